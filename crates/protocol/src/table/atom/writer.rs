//! Elements and attributes in the two layouts of Azure's Atom documents.

use crate::ApiVersion;
use crate::xml::text::{push_attribute, push_text};

/// The layout of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All on one line: from 2012-02-12 on. Recordings exist only for 2014-02-14, but clients of 2012-02-12
    /// treat line breaks between properties as properties.
    Line,
    /// Indented by two spaces, with lines ending in CRLF: before 2012-02-12.
    Indented,
}

impl Layout {
    /// The layout of a version.
    pub fn of(version: ApiVersion) -> Self {
        if version >= ApiVersion::V2012_02_12 { Layout::Line } else { Layout::Indented }
    }
}

/// The attributes of an element, in order.
pub type Attributes<'a> = &'a [(&'a str, &'a str)];

/// An XML document being written.
pub struct AtomWriter {
    out: Vec<u8>,
    layout: Layout,
    depth: usize,
}

impl AtomWriter {
    /// Starts a document with its declaration.
    pub fn new(layout: Layout, capacity: usize) -> Self {
        let declaration: &[u8] = match layout {
            Layout::Line => b"<?xml version=\"1.0\" encoding=\"utf-8\"?>",
            Layout::Indented => b"<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>",
        };
        let mut out = Vec::with_capacity(capacity);
        out.extend_from_slice(declaration);
        Self { out, layout, depth: 0 }
    }

    /// The layout that was chosen.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Opens an element that has children.
    pub fn open(&mut self, tag: &str, attributes: Attributes<'_>) {
        self.start(|out| out.extend_from_slice(tag.as_bytes()), attributes);
        self.out.push(b'>');
        self.depth += 1;
    }

    /// Closes it.
    pub fn close(&mut self, tag: &str) {
        self.depth -= 1;
        self.line();
        self.end(|out| out.extend_from_slice(tag.as_bytes()));
    }

    /// An element with a name and attributes only.
    pub fn empty(&mut self, tag: &str, attributes: Attributes<'_>) {
        self.start(|out| out.extend_from_slice(tag.as_bytes()), attributes);
        self.out.extend_from_slice(b" />");
    }

    /// An element with text. Empty text is written with two tags, unlike an element without text.
    pub fn text(&mut self, tag: &str, attributes: Attributes<'_>, text: &str) {
        self.content(|out| out.extend_from_slice(tag.as_bytes()), attributes, |out| push_text(out, text));
    }

    /// An element whose name and content are written by the caller.
    pub fn content(
        &mut self,
        tag: impl Fn(&mut Vec<u8>),
        attributes: Attributes<'_>,
        content: impl FnOnce(&mut Vec<u8>),
    ) {
        self.start(&tag, attributes);
        self.out.push(b'>');
        content(&mut self.out);
        self.end(&tag);
    }

    /// An element without content whose name is written by the caller.
    pub fn empty_content(&mut self, tag: impl Fn(&mut Vec<u8>), attributes: Attributes<'_>) {
        self.start(&tag, attributes);
        self.out.extend_from_slice(b" />");
    }

    /// The document.
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    fn start(&mut self, tag: impl Fn(&mut Vec<u8>), attributes: Attributes<'_>) {
        self.line();
        self.out.push(b'<');
        tag(&mut self.out);
        for (name, value) in attributes {
            self.out.push(b' ');
            self.out.extend_from_slice(name.as_bytes());
            self.out.extend_from_slice(b"=\"");
            push_attribute(&mut self.out, value);
            self.out.push(b'"');
        }
    }

    fn end(&mut self, tag: impl Fn(&mut Vec<u8>)) {
        self.out.extend_from_slice(b"</");
        tag(&mut self.out);
        self.out.push(b'>');
    }

    fn line(&mut self) {
        if self.layout == Layout::Indented {
            self.out.extend_from_slice(b"\r\n");
            self.out.resize(self.out.len() + 2 * self.depth, b' ');
        }
    }
}
