//! A small XML document as a tree of elements. Attributes and prefixes are ignored; a document type is
//! rejected.
//!
//! Elements record their end, so that errors of the Blob and Queue services can contain the position at which a
//! document is invalid.

use lazuli_model::Failure;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::read::{TextError, resolve, text};
use super::{Position, invalid, invalid_at};

/// Maximum depth, more than any of our documents has: a child of a rule is the fourth level.
const DEPTH_MAX: usize = 8;
/// Maximum elements, more than any of our documents has.
const ELEMENTS_MAX: usize = 256;
/// Maximum attributes, more than any element has. Duplicates are found by comparing all pairs.
const ATTRIBUTES_MAX: usize = 16;

/// An element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its local name.
    pub name: String,
    /// Its text, without that of its children.
    pub text: String,
    /// The elements in it.
    pub children: Vec<Element>,
    /// The position of the name in its end tag.
    pub end: Position,
}

impl Element {
    /// Reads a document whose root has this name.
    pub fn parse(body: &[u8], root: &str) -> Result<Self, Failure> {
        let text = text(body).map_err(|error| match error {
            TextError::Encoding => invalid(),
            TextError::Character(at) => syntax(body, at),
        })?;
        let mut walk = Walk::new(text);
        let mut reader = Reader::from_str(text);
        loop {
            let Ok(event) = reader.read_event() else {
                return Err(walk.syntax(reader.error_position()));
            };
            if matches!(event, Event::Eof) {
                break;
            }
            walk.take(event, reader.buffer_position())?;
        }
        match walk.root {
            Some(found) if walk.open.is_empty() && found.name == root => Ok(found),
            _ => Err(walk.syntax(text.len() as u64)),
        }
    }

    /// The only child of that name; more than one is an error.
    pub fn child(&self, name: &str) -> Result<Option<&Element>, Failure> {
        let mut found = self.children.iter().filter(|child| child.name == name);
        let first = found.next();
        if found.next().is_some() { Err(invalid()) } else { Ok(first) }
    }

    /// The child of that name, which is required.
    pub fn need(&self, name: &str) -> Result<&Element, Failure> {
        self.child(name)?.ok_or_else(invalid)
    }

    /// Rejects children with names other than these, and text between children.
    pub fn only(&self, names: &[&str]) -> Result<(), Failure> {
        let known = self.children.iter().all(|child| names.contains(&child.name.as_str()));
        if known && self.text.trim().is_empty() { Ok(()) } else { Err(invalid()) }
    }

    /// The text of an element that has no children.
    pub fn value(&self) -> Result<&str, Failure> {
        if self.children.is_empty() { Ok(&self.text) } else { Err(invalid()) }
    }

    /// The text of the child of that name, without white space around it; `None` if it is missing or empty.
    pub fn filled(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.child(name)? {
            Some(child) => Ok(Some(child.value()?.trim()).filter(|text| !text.is_empty())),
            None => Ok(None),
        }
    }
}

/// The error for a document that is not well-formed, found at this offset.
fn syntax(body: &[u8], at: usize) -> Failure {
    let text = String::from_utf8_lossy(&body[..at.min(body.len())]);
    invalid_at(Position::default().after(&text), "Error parsing Xml content")
}

struct Walk<'a> {
    text: &'a str,
    /// The elements that are open, the root first.
    open: Vec<Element>,
    root: Option<Element>,
    elements: usize,
    /// The last position that was looked up, with its offset: positions are looked up in ascending order.
    known: (usize, Position),
}

impl<'a> Walk<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, open: Vec::new(), root: None, elements: 0, known: (0, Position::default()) }
    }

    /// The position at an offset.
    fn position(&mut self, at: u64) -> Position {
        let (from, position) = self.known;
        let at = usize::try_from(at).unwrap_or(self.text.len()).min(self.text.len());
        if let Some(between) = self.text.get(from..at) {
            self.known = (at, position.after(between));
        }
        self.known.1
    }

    fn syntax(&mut self, at: u64) -> Failure {
        invalid_at(self.position(at), "Error parsing Xml content")
    }

    /// Processes an event that ends at this offset.
    fn take(&mut self, event: Event<'_>, at: u64) -> Result<(), Failure> {
        match event {
            Event::Start(start) => self.start(&start),
            Event::Empty(start) => {
                self.start(&start)?;
                self.end(at)
            }
            // The end tag is `</`, the name, and `>`.
            Event::End(end) => self.end(at.saturating_sub(end.len() as u64 + 1)),
            Event::Text(text) => self.append(&text.xml10_content()),
            Event::CData(text) => self.append(&text.xml10_content()),
            Event::GeneralRef(reference) => match resolve(&reference) {
                Some(character) => self.append(character.encode_utf8(&mut [0; 4])),
                None => Err(self.syntax(at)),
            },
            Event::Decl(declaration) => self.check_encoding(declaration.encoding()),
            Event::DocType(_) => Err(self.syntax(at)),
            Event::Comment(_) | Event::PI(_) | Event::Eof => Ok(()),
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), Failure> {
        self.elements += 1;
        if self.elements > ELEMENTS_MAX || self.open.len() == DEPTH_MAX || self.root.is_some() {
            return Err(invalid());
        }
        for (count, attribute) in start.attributes().enumerate() {
            if attribute.is_err() || count == ATTRIBUTES_MAX {
                return Err(invalid());
            }
        }
        self.open.push(Element { name: start.local_name().as_ref().to_owned(), ..Element::default() });
        Ok(())
    }

    fn end(&mut self, at: u64) -> Result<(), Failure> {
        let mut element = self.open.pop().ok_or_else(invalid)?;
        element.end = self.position(at);
        match self.open.last_mut() {
            Some(parent) => parent.children.push(element),
            None => self.root = Some(element),
        }
        Ok(())
    }

    fn append(&mut self, text: &str) -> Result<(), Failure> {
        match self.open.last_mut() {
            Some(element) => element.text.push_str(text),
            None if text.trim().is_empty() => {}
            None => return Err(invalid()),
        }
        Ok(())
    }

    fn check_encoding<E>(&self, encoding: Option<Result<impl AsRef<str>, E>>) -> Result<(), Failure> {
        let known = |name: &str| ["utf-8", "utf8", "us-ascii"].iter().any(|k| name.eq_ignore_ascii_case(k));
        match encoding {
            _ if self.elements > 0 => Err(invalid()),
            None => Ok(()),
            Some(Ok(name)) if known(name.as_ref()) => Ok(()),
            Some(_) => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents() {
        let found = Element::parse(
            b"\xef\xbb\xbf<?xml version='1.0' encoding='utf-8'?>\r\n<a x=\"1\"> <b>1 &amp; &#x32;<![CDATA[<]]></b><!-- c --><p:c/></a>\n",
            "a",
        )
        .unwrap();
        assert_eq!(found.need("b").unwrap().value().unwrap(), "1 & 2<");
        assert_eq!(found.filled("c"), Ok(None));
        assert!(found.only(&["b", "c"]).is_ok());
        assert!(found.only(&["b"]).is_err());
        assert!(found.need("d").is_err());
    }

    /// Lines and columns count from 1, in characters.
    #[test]
    fn errors_say_where() {
        let found = Element::parse("<a>\n <b>ä</b><c\n/></a>".as_bytes(), "a").unwrap();
        let end = |element: &Element| (element.end.line, element.end.column);
        assert_eq!(end(found.need("b").unwrap()), (2, 8));
        assert_eq!(end(&found), (3, 5));
        let details = |body: &str| {
            let failure = Element::parse(body.as_bytes(), "a").unwrap_err();
            failure.details.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(details("<a>\n  &x;</a>"), ["2", "6", "Error parsing Xml content"]);
        assert_eq!(details("<a>\n\u{1}</a>"), ["2", "1", "Error parsing Xml content"]);
        assert_eq!(details("<a><b>"), ["1", "7", "Error parsing Xml content"]);
    }

    #[test]
    fn malformed_documents_are_rejected() {
        let deep = format!("{}{}", "<a>".repeat(9), "</a>".repeat(9));
        let wide = format!("<a>{}</a>", "<b/>".repeat(ELEMENTS_MAX));
        let attributes: String = (0..=ATTRIBUTES_MAX).map(|n| format!(" a{n}='1'")).collect();
        let attributes = format!("<a{attributes}/>");
        for bad in [
            "",
            "x",
            "<a>",
            "<a></b>",
            "<b/>",
            "<a/><a/>",
            "<a/>x",
            "<a>&x;</a>",
            "<a b=1 b=1/>",
            "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
            "<?xml version='1.0' encoding='utf-16'?><a/>",
            &deep,
            &wide,
            &attributes,
        ] {
            assert!(Element::parse(bad.as_bytes(), "a").is_err(), "{bad}");
        }
        assert!(Element::parse(b"<a>\xff</a>", "a").is_err());
        let twice = Element::parse(b"<a><b/><b/></a>", "a").unwrap();
        assert!(twice.child("b").is_err());
    }
}
