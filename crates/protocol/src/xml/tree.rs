//! A small XML document as a tree of elements. Attributes and prefixes mean nothing; a document type is refused.

use lazuli_model::Failure;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::invalid;
use crate::atom::document::{resolve, text};

/// Deeper than any of our documents: a child of a rule is the fourth level.
const DEPTH_MAX: usize = 8;
/// More elements than any of our documents has.
const ELEMENTS_MAX: usize = 256;
/// More attributes than any element has. Repetitions are found by comparing each with each.
const ATTRIBUTES_MAX: usize = 16;

/// An element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its local name.
    pub name: String,
    /// The text in it, that of its children not included.
    pub text: String,
    /// The elements in it.
    pub children: Vec<Element>,
}

impl Element {
    /// Reads a document whose root has this name.
    pub fn parse(body: &[u8], root: &str) -> Result<Self, Failure> {
        let mut walk = Walk { open: Vec::new(), root: None, elements: 0 };
        let mut reader = Reader::from_str(text(body).map_err(|_| invalid())?);
        loop {
            match reader.read_event().map_err(|_| invalid())? {
                Event::Start(start) => walk.start(&start)?,
                Event::Empty(start) => {
                    walk.start(&start)?;
                    walk.end()?;
                }
                Event::End(_) => walk.end()?,
                Event::Text(text) => walk.append(&text.xml10_content())?,
                Event::CData(text) => walk.append(&text.xml10_content())?,
                Event::GeneralRef(reference) => {
                    let character = resolve(&reference).map_err(|_| invalid())?;
                    walk.append(character.encode_utf8(&mut [0; 4]))?;
                }
                Event::Decl(declaration) => walk.check_encoding(declaration.encoding())?,
                Event::DocType(_) => return Err(invalid()),
                Event::Comment(_) | Event::PI(_) => {}
                Event::Eof => break,
            }
        }
        walk.root.filter(|found| walk.open.is_empty() && found.name == root).ok_or_else(invalid)
    }

    /// The one child of that name; more than one is an error.
    pub fn child(&self, name: &str) -> Result<Option<&Element>, Failure> {
        let mut found = self.children.iter().filter(|child| child.name == name);
        let first = found.next();
        if found.next().is_some() { Err(invalid()) } else { Ok(first) }
    }

    /// The child of that name, which must be there.
    pub fn need(&self, name: &str) -> Result<&Element, Failure> {
        self.child(name)?.ok_or_else(invalid)
    }

    /// Refuses children with other names than these, and text beside the children.
    pub fn only(&self, names: &[&str]) -> Result<(), Failure> {
        let known = self.children.iter().all(|child| names.contains(&child.name.as_str()));
        if known && self.text.trim().is_empty() { Ok(()) } else { Err(invalid()) }
    }

    /// The text of an element that has no children.
    pub fn value(&self) -> Result<&str, Failure> {
        if self.children.is_empty() { Ok(&self.text) } else { Err(invalid()) }
    }

    /// The text of the child of that name, without blanks around it; `None` if it is missing or empty.
    pub fn filled(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.child(name)? {
            Some(child) => Ok(Some(child.value()?.trim()).filter(|text| !text.is_empty())),
            None => Ok(None),
        }
    }
}

struct Walk {
    /// The elements that are open, the root first.
    open: Vec<Element>,
    root: Option<Element>,
    elements: usize,
}

impl Walk {
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

    fn end(&mut self) -> Result<(), Failure> {
        let element = self.open.pop().ok_or_else(invalid)?;
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

    #[test]
    fn what_is_no_document_is_refused() {
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
