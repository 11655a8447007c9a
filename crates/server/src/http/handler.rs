//! The interface between a connection and its request handler: request bodies in, responses out.
//!
//! The body is a trait object. A handler is thus compiled once, and not once for each kind of socket.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use lazuli_model::Failure;
use lazuli_protocol::Response;

use super::head::RequestHead;

/// A future on the heap. Public functions return one where this crate should compile the work, rather than each of
/// its callers.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The client of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Is the connection encrypted with TLS?
    pub is_tls: bool,
}

/// The body of a request, read on demand. The first read sends `100 Continue` to a client that waits for it.
pub trait Body: Send {
    /// The announced length; `None` for a body in chunks.
    fn length(&self) -> Option<u64>;

    /// Reads the whole body; more than `max` bytes is `RequestBodyTooLarge`.
    fn collect(&mut self, max: usize) -> Reading<'_, Vec<u8>>;

    /// Reads the next piece of the body; `None` at its end. Holds no more than one window at a time.
    fn next(&mut self) -> Reading<'_, Option<Bytes>>;

    /// Claims memory for the decoded body, until the response is complete.
    fn hold(&mut self, bytes: usize) -> Result<(), Failure>;
}

/// A read of a body. It allocates only if more bytes must be received.
pub enum Reading<'a, T> {
    /// The bytes have already arrived.
    Ready(Option<Result<T, Failure>>),
    /// The rest is read from the socket.
    Waiting(BoxFuture<'a, Result<T, Failure>>),
}

impl<'a, T> Reading<'a, T> {
    /// A read that completes immediately.
    pub fn ready(read: Result<T, Failure>) -> Self {
        Self::Ready(Some(read))
    }

    /// A read that may have to wait.
    pub fn waiting(read: impl Future<Output = Result<T, Failure>> + Send + 'a) -> Self {
        Self::Waiting(Box::pin(read))
    }
}

impl<T: Unpin> Future for Reading<'_, T> {
    type Output = Result<T, Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Ready(read) => Poll::Ready(read.take().expect("a future is not polled after its end")),
            Self::Waiting(read) => read.as_mut().poll(context),
        }
    }
}

/// Content of a response that is read piece by piece while it is sent.
pub trait ResponseContent: Send {
    /// The next piece; `None` at the end. An error closes the connection, since the status has been sent
    /// already.
    fn next(&mut self) -> BoxFuture<'_, io::Result<Option<Bytes>>>;

    /// Is the memory of its pieces counted elsewhere? Otherwise two pieces count against the memory of
    /// responses in transit.
    fn is_bounded(&self) -> bool {
        false
    }
}

/// A response, and the content that is streamed after its head.
#[derive(Default)]
pub struct Reply {
    /// Status, header fields and, unless content is streamed, the body.
    pub response: Response,
    /// The streamed content, of [`Response::content_length`] bytes.
    pub content: Option<Box<dyn ResponseContent>>,
}

impl From<Response> for Reply {
    fn from(response: Response) -> Self {
        Self { response, content: None }
    }
}

/// Responds to requests.
pub trait Handler: Send + Sync + 'static {
    /// Handles one request. It may leave the body unread.
    fn handle(
        &self,
        head: &RequestHead<'_>,
        peer: Peer,
        body: &mut dyn Body,
    ) -> impl Future<Output = Reply> + Send;

    /// Responds to input that is not a request.
    fn rejection(&self, failure: &Failure, peer: Peer) -> Response;
}
