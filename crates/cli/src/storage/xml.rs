//! The XML documents of responses as trees of elements.
//!
//! Unlike the documents that a server accepts, listings are large; the HTTP client bounds their size.

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Map, Value as Json};

/// Deeper than any document of the services.
const DEPTH_MAX: usize = 16;

/// An element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Its text, without the text of its children.
    pub text: String,
    /// Its attributes.
    pub attributes: Vec<(String, String)>,
    /// The elements in it.
    pub children: Vec<Element>,
}

impl Element {
    /// Reads a document. An empty one has a nameless root.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let text =
            lazuli_protocol::xml::read::text(body).map_err(|_| "the response is not XML".to_owned())?;
        let mut reader = Reader::from_str(text);
        let mut open = vec![Element::default()];
        loop {
            let event = reader.read_event().map_err(|error| format!("the response is not XML: {error}"))?;
            match event {
                Event::Start(start) => {
                    if open.len() >= DEPTH_MAX {
                        return Err("the response is not the XML of a storage service".into());
                    }
                    open.push(begin(&start)?);
                }
                Event::Empty(start) => {
                    let element = begin(&start)?;
                    close(&mut open, element);
                }
                Event::End(_) => {
                    if let Some(element) = open.pop() {
                        close(&mut open, element);
                    }
                }
                Event::Text(text) => push(&mut open, &text.xml10_content()),
                Event::CData(text) => push(&mut open, &text.xml10_content()),
                Event::GeneralRef(reference) => {
                    let c = lazuli_protocol::xml::read::resolve(&reference)
                        .ok_or("the response has an unknown XML entity")?;
                    push(&mut open, c.encode_utf8(&mut [0; 4]));
                }
                Event::Eof => break,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
        let document = open.into_iter().next().unwrap_or_default();
        Ok(document.children.into_iter().next().unwrap_or_default())
    }

    /// The first child of that name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first child of that name; empty if there is none.
    pub fn text_of(&self, name: &str) -> &str {
        self.child(name).map_or("", |child| child.text.as_str())
    }

    /// The metadata of a listed resource; null if it has none.
    pub fn metadata(&self) -> Json {
        let pairs = self.child("Metadata").map(|metadata| metadata.children.as_slice()).unwrap_or_default();
        if pairs.is_empty() {
            return Json::Null;
        }
        Json::Object(
            pairs.iter().map(|pair| (pair.name.clone(), pair.text.clone().into())).collect::<Map<_, _>>(),
        )
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}

fn begin(start: &quick_xml::events::BytesStart<'_>) -> Result<Element, String> {
    let name = start.local_name().as_ref().to_owned();
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let key = attribute.key.local_name().as_ref().to_owned();
        let value = attribute.value;
        // The services send no attribute whose value contains escapes.
        attributes.push((key, value.into_owned()));
    }
    Ok(Element { name, attributes, ..Element::default() })
}

fn close(open: &mut [Element], element: Element) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(element);
    }
}

fn push(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_become_trees() {
        let body = "\u{feff}<?xml version=\"1.0\"?><A b=\"true\"><C>x &lt; y&#10;</C><D/></A>";
        let root = Element::parse(body.as_bytes()).unwrap();
        assert_eq!((root.name.as_str(), root.attribute("b")), ("A", Some("true")));
        assert_eq!(root.text_of("C"), "x < y\n");
        assert_eq!((root.text_of("D"), root.text_of("E"), root.children.len()), ("", "", 2));
    }

    #[test]
    fn anything_else_is_an_error() {
        assert_eq!(Element::parse(b"").unwrap(), Element::default());
        assert!(Element::parse(b"<A><B></A>").is_err());
        assert!(Element::parse("<A>".repeat(100).as_bytes()).is_err());
        assert!(Element::parse(b"\xff\xfe").is_err());
    }
}
