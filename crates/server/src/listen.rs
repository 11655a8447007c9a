//! The accept loop: one task a connection, as many as allowed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::http::{Handler, Peer, Shared, serve};

/// How long to wait when the system cannot give us a connection, for instance for want of file handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until `stop` turns true, then waits for those that are open.
pub async fn listen<H: Handler>(
    listener: TcpListener,
    handler: Arc<H>,
    shared: Shared,
    mut stop: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(shared.limits.connections_max));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, address)) => {
                // With every place taken the connection is closed at once: the client learns it and can try again.
                let Ok(place) = places.clone().try_acquire_owned() else { continue };
                let handler = handler.clone();
                let shared = shared.clone();
                connections.spawn(async move {
                    serve_tcp(stream, address, &*handler, shared).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                let _ = tokio::time::timeout(ACCEPT_PAUSE, stop.wait_for(|stop| *stop)).await;
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn serve_tcp<H: Handler>(stream: TcpStream, address: SocketAddr, handler: &H, shared: Shared) {
    // HT-03: small answers must not wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    // On a socket for both families an IPv4 client appears in IPv6 dress; trusted proxies are named without it.
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    serve(stream, Peer { address }, handler, shared).await;
}
