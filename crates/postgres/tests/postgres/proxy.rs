//! A proxy between the engine and the database that cuts connections at a chosen message of the protocol.
//!
//! It counts the messages of the front end and of the server that pass, over all connections, and cuts everything before
//! or after the chosen one. Messages are a type byte and a length; those before authentication have no type.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// When to cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Counts messages of the server instead of those of the front end.
    pub of_server: bool,
    /// The number of the message, counted from 0 since the proxy was armed.
    pub at: usize,
    /// Whether that message still passes.
    pub after: bool,
}

/// A proxy that runs until the test ends.
pub struct Proxy {
    /// The address that it listens on.
    pub port: u16,
    state: Arc<State>,
}

struct State {
    armed: std::sync::Mutex<Option<Cut>>,
    seen: AtomicUsize,
    is_cut: AtomicBool,
    cut: watch::Sender<u64>,
}

impl Proxy {
    /// Starts a proxy to a server.
    pub async fn start(target: String) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State {
            armed: std::sync::Mutex::default(),
            seen: AtomicUsize::new(0),
            is_cut: AtomicBool::new(false),
            cut: watch::Sender::new(0),
        });
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (state, target) = (shared.clone(), target.clone());
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(target).await {
                        relay(client, server, state).await;
                    }
                });
            }
        });
        Self { port, state }
    }

    /// Starts counting messages, to cut once.
    pub fn arm(&self, cut: Cut) {
        self.state.seen.store(0, Ordering::SeqCst);
        self.state.is_cut.store(false, Ordering::SeqCst);
        *self.state.armed.lock().expect("no panic") = Some(cut);
    }

    /// Stops counting; returns whether it has cut.
    pub fn disarm(&self) -> bool {
        *self.state.armed.lock().expect("no panic") = None;
        self.state.is_cut.load(Ordering::SeqCst)
    }
}

async fn relay(client: TcpStream, server: TcpStream, state: Arc<State>) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let mut cut = state.cut.subscribe();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = pump(from_client, to_server, &state, false) => {}
        () = pump(from_server, to_client, &state, true) => {}
        _ = cut.changed() => {}
    }
}

/// Passes messages on, and cuts at the chosen one.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    state: &State,
    of_server: bool,
) {
    // The first message of the front end has no type. It does not ask for TLS, whose response would have none either.
    let mut typed = of_server;
    loop {
        let Ok(message) = message(&mut from, typed).await else { return };
        typed = true;
        let cut = *state.armed.lock().expect("no panic");
        let mine = cut.filter(|cut| cut.of_server == of_server);
        let at = if mine.is_some() { state.seen.fetch_add(1, Ordering::SeqCst) } else { 0 };
        let hit = mine.filter(|cut| cut.at == at);
        if hit.is_none_or(|cut| cut.after) && to.write_all(&message).await.is_err() {
            return;
        }
        if hit.is_some() {
            state.is_cut.store(true, Ordering::SeqCst);
            let _ = to.flush().await;
            state.cut.send_modify(|count| *count += 1);
            return;
        }
    }
}

async fn message(from: &mut (impl AsyncRead + Unpin), typed: bool) -> std::io::Result<Vec<u8>> {
    let mut message = vec![0; usize::from(typed) + 4];
    from.read_exact(&mut message).await?;
    let length = u32::from_be_bytes(message[message.len() - 4..].try_into().expect("four bytes")) as usize;
    let head = message.len();
    message.resize(head + length.saturating_sub(4), 0);
    from.read_exact(&mut message[head..]).await?;
    Ok(message)
}
