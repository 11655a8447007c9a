//! The bare servers: an upper limit for this HTTP stack and this disk.
//!
//! The limit is realistic: the same socket handling and the same load generator, and the minimum of work that
//! any HTTP server must do. The response to a GET has a fixed body. The body of any other request is appended
//! to a file; concurrent requests share one sync.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;

use lazuli_model::Failure;
use lazuli_protocol::Response;
use lazuli_server::http::{Body, BoxFuture, Handler, Peer, Reply, RequestHead};
use tokio::sync::oneshot;

/// Maximum size of an appended body.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Serves requests until the process is killed. Passes the address to `announce`.
pub fn serve(
    body_bytes: usize,
    location: &Path,
    announce: impl FnOnce(std::net::SocketAddr) + Send + 'static,
) -> BoxFuture<'_, std::io::Result<()>> {
    serve_from(body_bytes, location, Box::new(announce))
}

fn serve_from(
    body_bytes: usize,
    location: &Path,
    announce: Box<dyn FnOnce(std::net::SocketAddr) + Send>,
) -> BoxFuture<'_, std::io::Result<()>> {
    Box::pin(async move {
        let appender = Some(Appender::start(location)?);
        let address = ([127, 0, 0, 1], 0).into();
        lazuli_server::serve_bare(address, Arc::new(BareHandler { body_bytes, appender }), announce).await
    })
}

/// Sends responses without examining the request.
pub struct BareHandler {
    body_bytes: usize,
    appender: Option<Appender>,
}

impl BareHandler {
    /// Responds to everything with a fixed body of this size.
    pub fn reading(body_bytes: usize) -> Self {
        Self { body_bytes, appender: None }
    }
}

impl Handler for BareHandler {
    async fn handle(&self, head: &RequestHead<'_>, _peer: Peer, body: &mut dyn Body) -> Reply {
        let appender = match &self.appender {
            Some(appender) if head.method != "GET" => appender,
            _ => {
                return Response::new(200)
                    .with("Content-Type", "application/json")
                    .with_body(vec![b'x'; self.body_bytes])
                    .into();
            }
        };
        let appended = match body.collect(BODY_BYTES_MAX).await {
            Ok(bytes) => appender.append(bytes).await,
            Err(_) => false,
        };
        Response::new(if appended { 201 } else { 500 }).into()
    }

    fn rejection(&self, failure: &Failure, _peer: Peer) -> Response {
        Response::new(failure.code.status())
    }
}

/// A thread that appends all waiting bodies, and syncs once for all of them.
struct Appender(mpsc::Sender<(Vec<u8>, oneshot::Sender<()>)>);

impl Appender {
    fn start(location: &Path) -> std::io::Result<Self> {
        let mut file = File::create(location.join("appended"))?;
        let (sender, receiver) = mpsc::channel::<(Vec<u8>, oneshot::Sender<()>)>();
        std::thread::spawn(move || {
            while let Ok(first) = receiver.recv() {
                let mut waiting = vec![first.1];
                let mut bytes = first.0;
                while let Ok((more, request)) = receiver.try_recv() {
                    bytes.extend_from_slice(&more);
                    waiting.push(request);
                }
                if file.write_all(&bytes).and_then(|()| file.sync_data()).is_err() {
                    return;
                }
                for request in waiting {
                    // A request whose connection was closed no longer waits.
                    let _ = request.send(());
                }
            }
        });
        Ok(Self(sender))
    }

    async fn append(&self, bytes: Vec<u8>) -> bool {
        let (done, wait) = oneshot::channel();
        self.0.send((bytes, done)).is_ok() && wait.await.is_ok()
    }
}
