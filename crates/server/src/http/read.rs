//! Reads the start of a request: its head, and often all of its body, in one system call.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes read at a time when a request begins.
const READ_AHEAD_BYTES: usize = 8 * 1024;

/// Appends the bytes that have arrived to `input`. They pass through a buffer on the stack, so that an idle
/// connection holds no buffer of this size.
pub fn poll_read_ahead<S: AsyncRead + Unpin>(
    stream: &mut S,
    input: &mut BytesMut,
    context: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    let mut space = [const { MaybeUninit::uninit() }; READ_AHEAD_BYTES];
    let mut read = ReadBuf::uninit(&mut space);
    ready!(Pin::new(stream).poll_read(context, &mut read))?;
    input.extend_from_slice(read.filled());
    Poll::Ready(Ok(read.filled().len()))
}
