//! The accept loop: one task per connection, up to the limit.
//!
//! Whether a connection is plain or TLS is decided once, when it begins; after that, each kind has its own code.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lazuli_model::ErrorCode;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::http::{BoxFuture, Handler, Peer, Shared, serve, turn_away};
use crate::tls::{self, Tls};

/// Time to wait when the system cannot accept a connection, for instance because it has run out of file
/// handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Maximum number of clients that get a response concurrently when no permit is free; others are disconnected
/// without a response.
const TURNED_AWAY_MAX: usize = 64;
/// Maximum time for sending this response.
const TURN_AWAY_TIME_MAX: Duration = Duration::from_secs(2);

/// Accepts connections until `stop` turns true, then waits for those that are open.
pub async fn listen<H: Handler>(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    handler: Arc<H>,
    shared: Shared,
    mut stop: watch::Receiver<bool>,
) {
    let places = shared.connections.clone();
    let doorstep = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, address)) => {
                let guest = Guest::new(stream, address, handler.clone(), shared.clone(), stop.clone());
                // Plain and TLS connections have separate futures: otherwise the state of one would make the
                // other larger.
                let serve: BoxFuture<'static, ()> = match (places.clone().try_acquire_owned(), &tls) {
                    (Ok(place), None) => Box::pin(async move {
                        guest.serve_plain().await;
                        drop(place);
                    }),
                    (Ok(place), Some(tls)) => {
                        let tls = tls.clone();
                        Box::pin(async move {
                            guest.serve_tls(&tls).await;
                            drop(place);
                        })
                    }
                    // Without a free permit, a client gets a 503 that costs little and has a short timeout.
                    (Err(_), tls) => {
                        shared.traffic.rejected();
                        let Ok(step) = doorstep.clone().try_acquire_owned() else { continue };
                        let tls = tls.clone();
                        Box::pin(async move {
                            let _ = timeout(TURN_AWAY_TIME_MAX, guest.turn_away(tls)).await;
                            drop(step);
                        })
                    }
                };
                connections.spawn(serve);
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                let _ = timeout(ACCEPT_PAUSE, stop.wait_for(|stop| *stop)).await;
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// A connection that was just accepted.
struct Guest<H> {
    stream: TcpStream,
    address: SocketAddr,
    handler: Arc<H>,
    shared: Shared,
    stop: watch::Receiver<bool>,
}

impl<H: Handler> Guest<H> {
    fn new(
        stream: TcpStream,
        address: SocketAddr,
        handler: Arc<H>,
        shared: Shared,
        stop: watch::Receiver<bool>,
    ) -> Self {
        // HT-03: small responses must not wait for the acknowledgement of the previous one.
        let _ = stream.set_nodelay(true);
        // On a socket for both families an IPv4 client has an IPv4-mapped IPv6 address; trusted proxies are configured
        // with the IPv4 address.
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        Self { stream, address, handler, shared, stop }
    }

    fn peer(&self, is_tls: bool) -> Peer {
        Peer { address: self.address, is_tls }
    }

    async fn serve_plain(self) {
        let peer = self.peer(false);
        serve(self.stream, peer, &*self.handler, self.shared).await;
    }

    /// The handshake has the same timeout as a request head, and does not delay a shutdown.
    async fn serve_tls(mut self, tls: &Tls) {
        let peer = self.peer(true);
        let head_time_max = self.shared.limits.head_time_max;
        let begun = tokio::select! {
            begun = timeout(head_time_max, begin(tls, self.stream)) => begun,
            _ = self.stop.wait_for(|stop| *stop) => return,
        };
        match begun {
            Ok(Ok(Begun::Tls(stream))) => serve(*stream, peer, &*self.handler, self.shared).await,
            Ok(Ok(Begun::Plain(stream))) => {
                let peer = Peer { is_tls: false, ..peer };
                let code = ErrorCode::AccountRequiresHttps;
                let told = turn_away(stream, peer, &*self.handler, code, &self.shared.limits);
                let _ = timeout(TURN_AWAY_TIME_MAX, told).await;
            }
            Ok(Err(error)) => tracing::debug!(client = %peer.address, %error, "TLS handshake failed"),
            Err(_) => tracing::debug!(client = %peer.address, "TLS handshake timed out"),
        }
    }

    async fn turn_away(self, tls: Option<Arc<Tls>>) {
        let peer = self.peer(tls.is_some());
        let limits = &self.shared.limits;
        let code = ErrorCode::ServerBusy;
        match tls {
            None => turn_away(self.stream, peer, &*self.handler, code, limits).await,
            Some(tls) => {
                if let Ok(stream) = tls.accept(self.stream).await {
                    turn_away(stream, peer, &*self.handler, code, limits).await;
                }
            }
        }
    }
}

/// How a connection to a TLS listener begins.
enum Begun {
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
    /// A request in plain HTTP. The response is plain HTTP too, so that the client understands it.
    Plain(TcpStream),
}

async fn begin(tls: &Tls, stream: TcpStream) -> std::io::Result<Begun> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0] != tls::HANDSHAKE {
        return Ok(Begun::Plain(stream));
    }
    Ok(Begun::Tls(Box::new(tls.accept(stream).await?)))
}
