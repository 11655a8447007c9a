//! Atom responses, written from stored rows, byte for byte as Azure sent them.
//!
//! The two layouts differ in line ends, in the order of the elements of entries and feeds, and in the order of
//! the namespaces. The dates of all entries in a response come from the server's clock, not from the entities.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::table::operation::StoredEntity;
use lazuli_model::table::row::CorruptRow;
use lazuli_model::table::value::double_text;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, ValueRef};

use super::writer::{AtomWriter, Layout};
use super::{ATOM, DATA, METADATA, SCHEME};
use crate::ApiVersion;
use crate::http::response::Context;
use crate::table::etag;
use crate::table::response_format::ResponseFormat;
use crate::table::url;
use crate::xml::text::{push_name, push_text};

/// An error in the format of OData operations.
pub fn error(version: ApiVersion, code: &str, message: &str) -> Vec<u8> {
    let mut out = AtomWriter::new(Layout::of(version), message.len() + 256);
    out.open("error", &[("xmlns", METADATA)]);
    out.text("code", &[], code);
    out.text("message", &[("xml:lang", "en-US")], message);
    out.close("error");
    out.finish()
}

/// An error in the form of the front end and of XML operations.
pub fn prefixed_error(code: &str, message: &str) -> Vec<u8> {
    let mut out = AtomWriter::new(Layout::Line, message.len() + 256);
    out.open("m:error", &[("xmlns:m", METADATA)]);
    out.text("m:code", &[], code);
    out.text("m:message", &[("xml:lang", "en-US")], message);
    out.close("m:error");
    out.finish()
}

/// One table.
pub fn table(context: &Context, name: &str) -> Vec<u8> {
    let mut out = Document::new(context, 1024);
    out.table_entry(name, EntryPosition::Root);
    out.finish()
}

/// A page of tables.
pub fn tables(context: &Context, names: &[String]) -> Vec<u8> {
    let mut out = Document::new(context, 1024 + names.len() * 640);
    out.open_feed("Tables", names.is_empty());
    for name in names {
        out.table_entry(name, EntryPosition::Feed);
    }
    out.close_feed(names.is_empty());
    out.finish()
}

/// One entity.
pub fn entity(
    context: &Context,
    wanted: &ResponseFormat,
    table: &str,
    row: &StoredEntity,
) -> Result<Vec<u8>, CorruptRow> {
    let mut out = Document::new(context, estimate(row) + 512);
    out.entity_entry(wanted, table, row, EntryPosition::Root)?;
    Ok(out.finish())
}

/// A page of entities.
pub fn entities(
    context: &Context,
    wanted: &ResponseFormat,
    table: &str,
    rows: &[StoredEntity],
) -> Result<Vec<u8>, CorruptRow> {
    let mut out = Document::new(context, rows.iter().map(estimate).sum::<usize>() + 1024);
    out.open_feed(table, rows.is_empty());
    for row in rows {
        out.entity_entry(wanted, table, row, EntryPosition::Feed)?;
    }
    out.close_feed(rows.is_empty());
    Ok(out.finish())
}

/// The APP service document: one workspace with one collection, the tables.
pub fn service_document(context: &Context) -> Vec<u8> {
    const APP: &str = "http://www.w3.org/2007/app";
    let base = format!("{}/", context.base.as_str());
    let mut out = AtomWriter::new(Layout::of(context.version), 512);
    match out.layout() {
        Layout::Line => out.open("service", &[("xml:base", &base), ("xmlns", APP), ("xmlns:atom", ATOM)]),
        Layout::Indented => out.open(
            "service",
            &[("xml:base", &base), ("xmlns:atom", ATOM), ("xmlns:app", APP), ("xmlns", APP)],
        ),
    }
    out.open("workspace", &[]);
    out.text("atom:title", &[], "Default");
    out.open("collection", &[("href", "Tables")]);
    out.text("atom:title", &[], "Tables");
    out.close("collection");
    out.close("workspace");
    out.close("service");
    out.finish()
}

/// Markup is several times as long as a small row.
fn estimate(row: &StoredEntity) -> usize {
    row.properties.as_bytes().len() * 2 + row.properties.count() * 32 + 1024
}

/// The position of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryPosition {
    /// It is the root of the document.
    Root,
    /// It is part of a feed, which declares the namespaces.
    Feed,
}

/// The metadata of an entry, besides the properties of the resource.
struct Resource<'a> {
    /// `T` or `Tables`.
    set: &'a str,
    /// `T(PartitionKey='p',RowKey='r')` or `Tables('x')`.
    path: String,
    etag: Option<String>,
    place: EntryPosition,
}

/// An entry or a feed being written.
struct Document<'a> {
    out: AtomWriter,
    context: &'a Context,
    base: String,
    updated: String,
}

impl<'a> Document<'a> {
    fn new(context: &'a Context, capacity: usize) -> Self {
        Self {
            out: AtomWriter::new(Layout::of(context.version), capacity),
            context,
            base: format!("{}/", context.base.as_str()),
            updated: to_the_second(context.now).to_string(),
        }
    }

    fn finish(self) -> Vec<u8> {
        self.out.finish()
    }

    fn open_feed(&mut self, set: &str, is_empty: bool) {
        self.open_root("feed", None);
        let id = format!("{}{set}", self.base);
        match self.out.layout() {
            Layout::Line => {
                self.out.text("id", &[], &id);
                self.out.text("title", &[("type", "text")], set);
                self.out.text("updated", &[], &self.updated);
            }
            Layout::Indented => {
                self.out.text("title", &[("type", "text")], set);
                self.out.text("id", &[], &id);
                self.out.text("updated", &[], &self.updated);
                if is_empty {
                    self.author();
                }
            }
        }
        self.out.empty("link", &[("rel", "self"), ("title", set), ("href", set)]);
    }

    /// Atom requires an author; if there are no entries, the feed itself must have one.
    fn close_feed(&mut self, is_empty: bool) {
        if is_empty && self.out.layout() == Layout::Line {
            self.author();
        }
        self.out.close("feed");
    }

    fn table_entry(&mut self, name: &str, place: EntryPosition) {
        let resource =
            Resource { set: "Tables", path: text_of(|out| url::table_path(out, name)), etag: None, place };
        self.open_entry(&resource);
        self.property("TableName", ValueRef::String(name));
        self.close_entry();
    }

    fn entity_entry(
        &mut self,
        wanted: &ResponseFormat,
        table: &str,
        row: &StoredEntity,
        place: EntryPosition,
    ) -> Result<(), CorruptRow> {
        let path = text_of(|out| url::entity_path(out, table, &row.partition, &row.row));
        let etag = Some(etag::header(row.timestamp));
        self.open_entry(&Resource { set: table, path, etag, place });
        match wanted.selected() {
            None => self.all_properties(row)?,
            Some(names) => self.selected_properties(row, names)?,
        }
        self.close_entry();
        Ok(())
    }

    fn open_entry(&mut self, resource: &Resource<'_>) {
        let etag = resource.etag.as_deref();
        match (resource.place, etag) {
            (EntryPosition::Root, etag) => self.open_root("entry", etag),
            (EntryPosition::Feed, Some(etag)) => self.out.open("entry", &[("m:etag", etag)]),
            (EntryPosition::Feed, None) => self.out.open("entry", &[]),
        }
        let id = format!("{}{}", self.base, resource.path);
        self.out.text("id", &[], &id);
        match self.out.layout() {
            Layout::Line => {
                self.category(resource.set);
                self.edit_link(resource);
                self.out.empty("title", &[]);
                self.out.text("updated", &[], &self.updated);
                self.author();
            }
            Layout::Indented => {
                self.out.text("title", &[("type", "text")], "");
                self.out.text("updated", &[], &self.updated);
                self.author();
                self.edit_link(resource);
                self.category(resource.set);
            }
        }
        self.out.open("content", &[("type", "application/xml")]);
        self.out.open("m:properties", &[]);
    }

    fn close_entry(&mut self) {
        self.out.close("m:properties");
        self.out.close("content");
        self.out.close("entry");
    }

    fn open_root(&mut self, tag: &str, etag: Option<&str>) {
        let base = ("xml:base", self.base.as_str());
        let (atom, data, metadata) = (("xmlns", ATOM), ("xmlns:d", DATA), ("xmlns:m", METADATA));
        let etag = etag.map(|etag| ("m:etag", etag));
        let attributes: Vec<_> = match self.out.layout() {
            Layout::Line => [base, atom, data, metadata].into_iter().chain(etag).collect(),
            Layout::Indented => [base, data, metadata].into_iter().chain(etag).chain([atom]).collect(),
        };
        self.out.open(tag, &attributes);
    }

    fn author(&mut self) {
        self.out.open("author", &[]);
        self.out.empty("name", &[]);
        self.out.close("author");
    }

    fn category(&mut self, set: &str) {
        let term = format!("{}.{set}", self.context.account);
        self.out.empty("category", &[("term", &term), ("scheme", SCHEME)]);
    }

    fn edit_link(&mut self, resource: &Resource<'_>) {
        self.out.empty("link", &[("rel", "edit"), ("title", resource.set), ("href", &resource.path)]);
    }

    fn all_properties(&mut self, row: &StoredEntity) -> Result<(), CorruptRow> {
        self.property(PARTITION_KEY, ValueRef::String(&row.partition));
        self.property(ROW_KEY, ValueRef::String(&row.row));
        self.property(TIMESTAMP, ValueRef::DateTime(row.timestamp));
        for item in row.properties.iter() {
            let (name, value) = item?;
            self.property(name, value);
        }
        Ok(())
    }

    /// A selected property that the entity does not have is returned as null, as in Azure.
    fn selected_properties(&mut self, row: &StoredEntity, names: &[String]) -> Result<(), CorruptRow> {
        for name in names {
            match name.as_str() {
                PARTITION_KEY => self.property(name, ValueRef::String(&row.partition)),
                ROW_KEY => self.property(name, ValueRef::String(&row.row)),
                TIMESTAMP => self.property(name, ValueRef::DateTime(row.timestamp)),
                _ => match row.properties.find(name)? {
                    Some(value) => self.property(name, value),
                    None => self.out.empty_content(|out| push_tag(out, name), &[("m:null", "true")]),
                },
            }
        }
        Ok(())
    }

    fn property(&mut self, name: &str, value: ValueRef<'_>) {
        let attribute = match value {
            ValueRef::String(text) => is_blank_at_an_end(text).then_some(("xml:space", "preserve")),
            _ => Some(("m:type", value.kind().name())),
        };
        self.out.content(|out| push_tag(out, name), attribute.as_slice(), |out| push_value(out, value));
    }
}

fn push_tag(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b"d:");
    push_name(out, name);
}

/// Such a string is marked, so that readers do not mistake its white space for indentation.
fn is_blank_at_an_end(text: &str) -> bool {
    text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace)
}

fn push_value(out: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::String(text) => push_text(out, text),
        ValueRef::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        ValueRef::Int32(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        ValueRef::Int64(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        ValueRef::Double(value) => push_double(out, value),
        ValueRef::DateTime(value) => out.extend_from_slice(value.iso().as_bytes()),
        ValueRef::Guid(value) => out.extend_from_slice(&value.text()),
        ValueRef::Binary(bytes) => out.extend_from_slice(STANDARD.encode(bytes).as_bytes()),
    }
}

/// XML Schema names the infinities differently than JSON, and a double needs no decimal point.
fn push_double(out: &mut Vec<u8>, value: f64) {
    let text = double_text(value);
    let text = match text.as_str() {
        "Infinity" => "INF",
        "-Infinity" => "-INF",
        finite => finite.strip_suffix(".0").unwrap_or(finite),
    };
    out.extend_from_slice(text.as_bytes());
}

fn to_the_second(time: DateTime) -> DateTime {
    DateTime::from_ticks(time.ticks() - time.ticks() % TICKS_PER_SECOND).unwrap_or(time)
}

fn text_of(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity(96);
    write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests;
