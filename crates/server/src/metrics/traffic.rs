//! Connections and their traffic.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use lazuli_service::shard::Sharded;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Connections and their traffic.
#[derive(Debug, Default)]
pub struct Traffic {
    bytes: Sharded<Bytes>,
    opened: AtomicU64,
    closed: AtomicU64,
    rejected: AtomicU64,
}

#[derive(Debug, Default)]
struct Bytes {
    received: AtomicU64,
    sent: AtomicU64,
}

impl Traffic {
    /// Counts a connection that was rejected because of the connection limit.
    pub fn rejected(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections accepted in total, open now, and rejected.
    pub fn connections(&self) -> (u64, u64, u64) {
        let closed = self.closed.load(Ordering::Acquire);
        let opened = self.opened.load(Ordering::Acquire);
        (opened, opened.saturating_sub(closed), self.rejected.load(Ordering::Relaxed))
    }

    /// Bytes received and sent.
    pub fn bytes(&self) -> (u64, u64) {
        let sum = |of: fn(&Bytes) -> &AtomicU64| {
            self.bytes.iter().map(|bytes| of(bytes).load(Ordering::Relaxed)).sum()
        };
        (sum(|bytes| &bytes.received), sum(|bytes| &bytes.sent))
    }
}

/// A connection whose bytes are counted, after TLS.
pub struct Counted<S> {
    stream: S,
    traffic: Arc<Traffic>,
}

impl<S> Counted<S> {
    /// Counts a connection from now until it is dropped.
    pub fn new(stream: S, traffic: Arc<Traffic>) -> Self {
        traffic.opened.fetch_add(1, Ordering::AcqRel);
        Self { stream, traffic }
    }

    fn sent(&self, written: io::Result<usize>) -> io::Result<usize> {
        if let Ok(bytes) = written {
            self.traffic.bytes.own().sent.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        written
    }
}

impl<S> Drop for Counted<S> {
    fn drop(&mut self) {
        self.traffic.closed.fetch_add(1, Ordering::AcqRel);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut own.stream).poll_read(context, buffer));
        let bytes = (buffer.filled().len() - before) as u64;
        own.traffic.bytes.own().received.fetch_add(bytes, Ordering::Relaxed);
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        let written = ready!(Pin::new(&mut own.stream).poll_write(context, buffer));
        Poll::Ready(own.sent(written))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        let written = ready!(Pin::new(&mut own.stream).poll_write_vectored(context, buffers));
        Poll::Ready(own.sent(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn bytes_and_connections_are_counted() {
        let traffic: Arc<Traffic> = Arc::default();
        let (near, mut far) = tokio::io::duplex(64);
        let mut counted = Counted::new(near, traffic.clone());
        far.write_all(b"hello").await.unwrap();
        let mut read = [0; 5];
        counted.read_exact(&mut read).await.unwrap();
        counted.write_all(b"good bye").await.unwrap();
        let sent = counted.write_vectored(&[IoSlice::new(b"a"), IoSlice::new(b"b")]).await.unwrap();
        assert_eq!(traffic.bytes(), (5, 8 + sent as u64));
        assert_eq!(traffic.connections(), (1, 1, 0));
        drop(counted);
        traffic.rejected();
        assert_eq!(traffic.connections(), (1, 0, 1));
    }
}
