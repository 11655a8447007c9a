//! The bare servers: what this HTTP stack, and this disk, can do at most.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;

use lazuli_model::Failure;
use lazuli_protocol::Response;
use lazuli_server::http::{BodySource, Handler, Peer, RequestHead};
use tokio::sync::oneshot;

/// Bytes of the fixed answer: about what an entity of a kilobyte takes.
const BODY_BYTES: usize = 1100;

/// Which limit is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    /// A fixed body.
    Read,
    /// The request's body appended, with a shared sync.
    Append,
}

/// Serves until the process is killed. `announce` is told the address.
pub async fn serve(
    bare: Bare,
    location: &Path,
    announce: impl FnOnce(std::net::SocketAddr),
) -> std::io::Result<()> {
    let appender = match bare {
        Bare::Read => None,
        Bare::Append => Some(Appender::start(location)?),
    };
    let address = ([127, 0, 0, 1], 0).into();
    lazuli_server::serve_bare(address, Arc::new(BareHandler { appender }), announce).await
}

/// Answers without looking.
pub struct BareHandler {
    appender: Option<Appender>,
}

impl BareHandler {
    /// Answers with a fixed body.
    pub fn reading() -> Self {
        Self { appender: None }
    }
}

impl Handler for BareHandler {
    async fn handle(&self, _head: &RequestHead<'_>, _peer: Peer, body: &mut impl BodySource) -> Response {
        let Some(appender) = &self.appender else {
            return Response::new(200)
                .with("Content-Type", "application/json")
                .with_body(vec![b'x'; BODY_BYTES]);
        };
        let appended = match body.read().await {
            Ok(bytes) => appender.append(bytes).await,
            Err(_) => false,
        };
        Response::new(if appended { 204 } else { 500 })
    }

    fn refuse(&self, failure: &Failure, _peer: Peer) -> Response {
        Response::new(failure.code.status())
    }
}

/// One thread that appends what waits and syncs once for all.
struct Appender(mpsc::Sender<(Vec<u8>, oneshot::Sender<()>)>);

impl Appender {
    fn start(location: &Path) -> std::io::Result<Self> {
        let mut file = File::create(location.join("appended"))?;
        let (sender, receiver) = mpsc::channel::<(Vec<u8>, oneshot::Sender<()>)>();
        std::thread::spawn(move || {
            while let Ok(first) = receiver.recv() {
                let mut waiting = vec![first.1];
                let mut bytes = first.0;
                while let Ok((more, who)) = receiver.try_recv() {
                    bytes.extend_from_slice(&more);
                    waiting.push(who);
                }
                if file.write_all(&bytes).and_then(|()| file.sync_data()).is_err() {
                    return;
                }
                for who in waiting {
                    // One who no longer waits does not want to know.
                    let _ = who.send(());
                }
            }
        });
        Ok(Self(sender))
    }

    async fn append(&self, bytes: Vec<u8>) -> bool {
        let (done, waits) = oneshot::channel();
        self.0.send((bytes, done)).is_ok() && waits.await.is_ok()
    }
}
