//! The body of Put Message and Update Message: `<QueueMessage><MessageText>…</MessageText></QueueMessage>`.
//!
//! The text is kept exactly as the XML says: white space counts, and nothing is decoded. White space between
//! the elements is ignored. Markup inside the text is rejected, as are characters that XML does not allow.

use lazuli_model::queue::limits::{MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX_2009};
use lazuli_model::{ErrorCode, Failure};
use memchr::memchr3;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::ApiVersion;
use crate::xml::read::{self, TextError};
use crate::xml::text::is_xml_char;
use crate::xml::{Position, invalid, invalid_at};

/// Maximum attributes, more than any element has. Duplicates are found by comparing all pairs.
const ATTRIBUTES_MAX: usize = 16;

/// The text of the message in a body.
pub fn decode(body: &[u8], version: ApiVersion) -> Result<Box<str>, Failure> {
    let document = read::text(body).map_err(|error| match error {
        TextError::Encoding => invalid(),
        TextError::Character(at) => syntax(&String::from_utf8_lossy(body), at),
    })?;
    if let Some(text) = plain(document) {
        check_length(text, version)?;
        return Ok(text.into());
    }
    let mut reader = Reader::from_str(document);
    let mut walk = Walk { state: State::Start, text: String::new() };
    loop {
        let position = reader.buffer_position();
        let wrong = || syntax(document, usize::try_from(position).unwrap_or_default());
        match reader.read_event().map_err(|_| wrong())? {
            Event::Eof => break,
            event => walk.take(&event).ok_or_else(wrong)?,
        }
    }
    if walk.state != State::End {
        return Err(syntax(document, document.len()));
    }
    check_length(&walk.text, version)?;
    Ok(walk.text.into_boxed_str())
}

/// The text of a document as most clients write it: without attributes, space between the elements, or anything in the text
/// that stands for something else. `None` for every other document.
fn plain(document: &str) -> Option<&str> {
    let root = match document.strip_prefix("<?xml ") {
        Some(declared) => declared.split_once("?>")?.1.trim_start_matches(['\r', '\n']),
        None => document,
    };
    let text = root.strip_prefix("<QueueMessage><MessageText>")?;
    let text = text.strip_suffix("</MessageText></QueueMessage>")?;
    memchr3(b'<', b'&', b'\r', text.as_bytes()).is_none().then_some(text)
}

fn check_length(text: &str, version: ApiVersion) -> Result<(), Failure> {
    if version < ApiVersion::V2011_08_18 && text.len() > MESSAGE_BYTES_MAX_2009 {
        return Err(ErrorCode::MessageTooLarge.into());
    }
    if text.len() > MESSAGE_BYTES_MAX {
        return Err(too_large(MESSAGE_BYTES_MAX));
    }
    Ok(())
}

/// `RequestBodyTooLarge` with the limit.
pub fn too_large(limit: usize) -> Failure {
    Failure::from(ErrorCode::RequestBodyTooLarge).detail("MaxLimit", limit.to_string())
}

fn syntax(document: &str, at: usize) -> Failure {
    let before = document.get(..at).unwrap_or(document);
    invalid_at(Position::default().after(before), "Error parsing Xml content")
}

/// The position in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the root.
    Start,
    /// In the root, before the text element.
    Root,
    /// In the text element.
    Text,
    /// In the root, after the text element.
    After,
    /// After the root.
    End,
}

struct Walk {
    state: State,
    text: String,
}

impl Walk {
    /// Processes an event; `None` if the document is invalid there.
    fn take(&mut self, event: &Event<'_>) -> Option<()> {
        match event {
            Event::Start(start) => self.open(start),
            Event::Empty(start) => {
                self.open(start)?;
                self.close()
            }
            Event::End(_) => self.close(),
            Event::Text(text) => self.append(&text.xml10_content()),
            Event::CData(text) => self.append(&text.xml10_content()),
            Event::GeneralRef(reference) => {
                let character = read::resolve(reference).filter(|c| is_xml_char(*c))?;
                self.append(character.encode_utf8(&mut [0; 4]))
            }
            Event::Decl(_) => (self.state == State::Start).then_some(()),
            Event::DocType(_) => None,
            Event::Comment(_) | Event::PI(_) | Event::Eof => Some(()),
        }
    }

    fn open(&mut self, start: &BytesStart<'_>) -> Option<()> {
        let legal =
            start.attributes().enumerate().all(|(at, attribute)| at < ATTRIBUTES_MAX && attribute.is_ok());
        let name = start.local_name();
        self.state = match (self.state, name.as_ref()) {
            (State::Start, "QueueMessage") => State::Root,
            (State::Root, "MessageText") => State::Text,
            _ => return None,
        };
        legal.then_some(())
    }

    fn close(&mut self) -> Option<()> {
        self.state = match self.state {
            State::Text => State::After,
            State::After => State::End,
            State::Start | State::Root | State::End => return None,
        };
        Some(())
    }

    fn append(&mut self, text: &str) -> Option<()> {
        match self.state {
            State::Text => self.text.push_str(text),
            _ if text.trim().is_empty() => {}
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
