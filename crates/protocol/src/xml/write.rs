//! Writes small XML documents in the format of the services: one line after a byte order mark.

use super::text::{push_attribute, push_text};

/// The bytes before the root element of every document.
pub const DECLARATION: &[u8] = b"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>";

/// A document: byte order mark, declaration, and the root element that `write` appends.
pub fn document(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut body = DECLARATION.to_vec();
    write(&mut body);
    body
}

/// Appends an element with content.
pub fn nest(out: &mut Vec<u8>, name: &str, content: impl FnOnce(&mut Vec<u8>)) {
    nest_with(out, name, &[], content);
}

/// Appends an element with attributes and content.
pub fn nest_with(
    out: &mut Vec<u8>,
    name: &str,
    attributes: &[(&str, &str)],
    content: impl FnOnce(&mut Vec<u8>),
) {
    out.push(b'<');
    out.extend_from_slice(name.as_bytes());
    for (attribute, value) in attributes {
        out.push(b' ');
        out.extend_from_slice(attribute.as_bytes());
        out.extend_from_slice(b"=\"");
        push_attribute(out, value);
        out.push(b'"');
    }
    out.push(b'>');
    content(out);
    out.extend_from_slice(b"</");
    out.extend_from_slice(name.as_bytes());
    out.push(b'>');
}

/// Appends an element with text; without text, `<name />`.
pub fn leaf(out: &mut Vec<u8>, name: &str, text: &str) {
    if text.is_empty() {
        empty(out, name);
    } else {
        nest(out, name, |out| push_text(out, text));
    }
}

/// Appends an element whose text needs no escapes: a number, a date, an id. It must not be empty.
pub fn plain_leaf(out: &mut Vec<u8>, name: &str, text: &str) {
    nest(out, name, |out| out.extend_from_slice(text.as_bytes()));
}

/// Appends `<name />`.
pub fn empty(out: &mut Vec<u8>, name: &str) {
    out.push(b'<');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b" />");
}
