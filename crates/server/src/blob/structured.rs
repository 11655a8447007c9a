//! Structured messages on the wire: content of requests is unwrapped, content of responses is wrapped.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;

use bytes::Bytes;
use lazuli_protocol::blob::structured::{STRUCTURED, StructuredReader, StructuredWriter};
use lazuli_protocol::http::response::Response;
use lazuli_service::stream::{NextChunk, Source};

use crate::http::{Reply, ResponseContent};

/// The content of a structured message that arrives piece by piece.
pub struct Unwrapped<'a> {
    message: &'a mut dyn Source,
    reader: StructuredReader,
    /// Decoded content of the last piece that was not returned yet.
    ready: VecDeque<Bytes>,
}

impl<'a> Unwrapped<'a> {
    pub fn new(message: &'a mut dyn Source) -> Self {
        Self { message, reader: StructuredReader::default(), ready: VecDeque::new() }
    }
}

impl Source for Unwrapped<'_> {
    fn next(&mut self) -> NextChunk<'_> {
        Box::pin(async {
            loop {
                if let Some(piece) = self.ready.pop_front() {
                    return Ok(Some(piece));
                }
                let Some(piece) = self.message.next().await? else {
                    self.reader.finish()?;
                    return Ok(None);
                };
                let ranges = self.reader.read(&piece)?;
                self.ready.extend(ranges.into_iter().map(|range| piece.slice(range)));
            }
        })
    }
}

/// Content that is sent to a client as a structured message.
struct Wrapped {
    content: Box<dyn ResponseContent>,
    writer: StructuredWriter,
    has_begun: bool,
}

impl ResponseContent for Wrapped {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = io::Result<Option<Bytes>>> + Send + '_>> {
        Box::pin(async {
            if !self.has_begun {
                self.has_begun = true;
                return Ok(Some(self.writer.begin().into()));
            }
            let piece = self.content.next().await?;
            Ok(piece.map(|piece| self.writer.write(&piece).into()))
        })
    }
}

/// Announces that the content of a request was a structured message, and wraps the content of the response in one.
pub fn reply(response: Response, content: Option<Box<dyn ResponseContent>>) -> Reply {
    let response = response.with("x-ms-structured-body", STRUCTURED);
    let (Some(content), Some(length)) = (content, response.content_length) else {
        return response.into();
    };
    let writer = StructuredWriter::new(length);
    let mut response = response.with("x-ms-structured-content-length", length.to_string());
    response.content_length = Some(writer.message_length());
    Reply { response, content: Some(Box::new(Wrapped { content, writer, has_begun: false })) }
}
