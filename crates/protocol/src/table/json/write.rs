//! JSON responses, written from stored rows without an intermediate map.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::table::operation::StoredEntity;
use lazuli_model::table::row::CorruptRow;
use lazuli_model::table::value::double_text;
use lazuli_model::{EdmType, ValueRef};

use super::text::{push_escaped, push_string};
use crate::http::response::Context;
use crate::table::etag;
use crate::table::media::MetadataLevel;
use crate::table::response_format::{ResponseFormat, Select};
use crate::table::url;

/// `{"odata.error":{…}}`.
pub fn error(code: &str, message: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 96);
    out.extend_from_slice(b"{\"odata.error\":{\"code\":");
    push_string(&mut out, code);
    out.extend_from_slice(b",\"message\":{\"lang\":\"en-US\",\"value\":");
    push_string(&mut out, message);
    out.extend_from_slice(b"}}}");
    out
}

/// One table.
pub fn table(context: &Context, level: MetadataLevel, name: &str) -> Vec<u8> {
    let mut out = Object::new(256);
    if level != MetadataLevel::None {
        out.metadata(context, "Tables/@Element", None);
    }
    table_members(&mut out, context, level, name);
    out.close()
}

/// A page of tables.
pub fn tables(context: &Context, level: MetadataLevel, names: &[String]) -> Vec<u8> {
    let mut out = Object::new(128 + names.len() * 64);
    if level != MetadataLevel::None {
        out.metadata(context, "Tables", None);
    }
    out.array("value", names, |out, name| {
        table_members(out, context, level, name);
        Ok(())
    })
    .unwrap_or_default();
    out.close()
}

fn table_members(out: &mut Object, context: &Context, level: MetadataLevel, name: &str) {
    if level == MetadataLevel::Full {
        out.member("odata.type", |bytes| push_string(bytes, format!("{}.Tables", context.account)));
        out.member("odata.id", |bytes| push_string(bytes, url::table_url(&context.base, name)));
        out.member("odata.editLink", |bytes| quoted(bytes, |bytes| url::table_path(bytes, name)));
    }
    out.member("TableName", |bytes| push_string(bytes, name));
}

/// One entity.
pub fn entity(
    context: &Context,
    wanted: &ResponseFormat,
    level: MetadataLevel,
    table: &str,
    row: &StoredEntity,
) -> Result<Vec<u8>, CorruptRow> {
    let mut out = Object::new(row.properties.as_bytes().len() * 2 + 512);
    if level != MetadataLevel::None {
        out.metadata(context, &format!("{table}/@Element"), wanted.select.as_ref());
    }
    entity_members(&mut out, context, wanted, level, table, row)?;
    Ok(out.close())
}

/// A page of entities.
pub fn entities(
    context: &Context,
    wanted: &ResponseFormat,
    level: MetadataLevel,
    table: &str,
    rows: &[StoredEntity],
) -> Result<Vec<u8>, CorruptRow> {
    let estimate: usize = rows.iter().map(|row| row.properties.as_bytes().len() * 3 / 2 + 256).sum();
    let mut out = Object::new(estimate + 256);
    if level != MetadataLevel::None {
        out.metadata(context, table, wanted.select.as_ref());
    }
    out.array("value", rows, |out, row| entity_members(out, context, wanted, level, table, row))?;
    Ok(out.close())
}

fn entity_members(
    out: &mut Object,
    context: &Context,
    wanted: &ResponseFormat,
    level: MetadataLevel,
    table: &str,
    row: &StoredEntity,
) -> Result<(), CorruptRow> {
    if level == MetadataLevel::Full {
        out.member("odata.type", |bytes| push_string(bytes, format!("{}.{table}", context.account)));
        out.member("odata.id", |bytes| {
            push_string(bytes, url::entity_url(&context.base, table, &row.partition, &row.row));
        });
    }
    if level != MetadataLevel::None {
        out.member("odata.etag", |bytes| quoted(bytes, |bytes| etag::write(bytes, row.timestamp, "\\\"")));
    }
    if level == MetadataLevel::Full {
        out.member("odata.editLink", |bytes| {
            quoted(bytes, |bytes| url::entity_path(bytes, table, &row.partition, &row.row));
        });
    }
    match wanted.selected() {
        None => all_properties(out, level, row),
        Some(names) => selected_properties(out, level, row, names),
    }
}

fn all_properties(out: &mut Object, level: MetadataLevel, row: &StoredEntity) -> Result<(), CorruptRow> {
    out.string(PARTITION_KEY, &*row.partition);
    out.string(ROW_KEY, &*row.row);
    timestamp(out, level, row);
    let mut properties = row.properties.iter();
    while let Some(stored) = properties.next_raw()? {
        match stored.string() {
            // Most of the content of rows, and never annotated.
            Some(text) => out.string(stored.name(), text),
            None => property(out, level, stored.name(), stored.value()?),
        }
    }
    Ok(())
}

/// A selected property that the entity does not have is returned as null, as in Azure.
fn selected_properties(
    out: &mut Object,
    level: MetadataLevel,
    row: &StoredEntity,
    names: &[String],
) -> Result<(), CorruptRow> {
    for name in names {
        match name.as_str() {
            PARTITION_KEY => out.string(PARTITION_KEY, &*row.partition),
            ROW_KEY => out.string(ROW_KEY, &*row.row),
            TIMESTAMP => timestamp(out, level, row),
            _ => match row.properties.find(name)? {
                Some(value) => property(out, level, name, value),
                None => out.member(name, |bytes| bytes.extend_from_slice(b"null")),
            },
        }
    }
    Ok(())
}

/// The Timestamp has a type annotation only at full metadata.
fn timestamp(out: &mut Object, level: MetadataLevel, row: &StoredEntity) {
    if level == MetadataLevel::Full {
        out.annotation(TIMESTAMP, EdmType::DateTime);
    }
    out.member(TIMESTAMP, |bytes| {
        quoted(bytes, |bytes| bytes.extend_from_slice(row.timestamp.iso().as_bytes()));
    });
}

fn property(out: &mut Object, level: MetadataLevel, name: impl AsRef<[u8]>, value: ValueRef<'_>) {
    if level != MetadataLevel::None && needs_annotation(&value) {
        out.annotation(&name, value.kind());
    }
    out.member(name, |bytes| push_value(bytes, value));
}

/// Is the type not evident from the JSON value?
pub(super) fn needs_annotation(value: &ValueRef<'_>) -> bool {
    match value {
        ValueRef::Binary(_) | ValueRef::DateTime(_) | ValueRef::Guid(_) | ValueRef::Int64(_) => true,
        ValueRef::Double(value) => !value.is_finite(),
        ValueRef::Boolean(_) | ValueRef::Int32(_) | ValueRef::String(_) => false,
    }
}

/// Appends a value as it follows its name.
pub(super) fn push_value(out: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::String(text) => push_string(out, text),
        ValueRef::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        ValueRef::Int32(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        ValueRef::Int64(value) => {
            quoted(out, |out| out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()));
        }
        ValueRef::Double(value) if value.is_finite() => out.extend_from_slice(double_text(value).as_bytes()),
        ValueRef::Double(value) => quoted(out, |out| out.extend_from_slice(double_text(value).as_bytes())),
        ValueRef::DateTime(value) => quoted(out, |out| out.extend_from_slice(value.iso().as_bytes())),
        ValueRef::Guid(value) => quoted(out, |out| out.extend_from_slice(&value.text())),
        ValueRef::Binary(bytes) => quoted(out, |out| push_base64(out, bytes)),
    }
}

fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written =
        STANDARD.encode_slice(bytes, &mut out[start..]).expect("the space is that of the encoded form");
    out.truncate(start + written);
}

/// Writes a string that needs no escaping, in quotes.
fn quoted(out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    content(out);
    out.push(b'"');
}

/// A JSON object being written.
pub(super) struct Object(Vec<u8>);

impl Object {
    pub(super) fn new(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity);
        bytes.push(b'{');
        Self(bytes)
    }

    fn comma(&mut self) {
        if !matches!(self.0.last(), Some(b'{' | b'[')) {
            self.0.push(b',');
        }
    }

    /// A member whose value is a string.
    fn string(&mut self, name: impl AsRef<[u8]>, text: impl AsRef<[u8]>) {
        self.comma();
        self.0.push(b'"');
        push_escaped(&mut self.0, name);
        self.0.extend_from_slice(b"\":\"");
        push_escaped(&mut self.0, text);
        self.0.push(b'"');
    }

    pub(super) fn member(&mut self, name: impl AsRef<[u8]>, value: impl FnOnce(&mut Vec<u8>)) {
        self.comma();
        push_string(&mut self.0, name);
        self.0.push(b':');
        value(&mut self.0);
    }

    pub(super) fn annotation(&mut self, name: impl AsRef<[u8]>, kind: EdmType) {
        self.comma();
        self.0.push(b'"');
        push_escaped(&mut self.0, name);
        self.0.extend_from_slice(b"@odata.type\":\"");
        self.0.extend_from_slice(kind.name().as_bytes());
        self.0.push(b'"');
    }

    fn metadata(&mut self, context: &Context, fragment: &str, select: Option<&Select>) {
        self.member("odata.metadata", |bytes| {
            bytes.push(b'"');
            push_escaped(bytes, context.base.as_str());
            bytes.extend_from_slice(b"/$metadata#");
            push_escaped(bytes, fragment);
            if let Some(select) = select {
                bytes.extend_from_slice(b"&$select=");
                push_escaped(bytes, &select.echo);
            }
            bytes.push(b'"');
        });
    }

    fn array<T>(
        &mut self,
        name: &str,
        items: &[T],
        mut each: impl FnMut(&mut Self, &T) -> Result<(), CorruptRow>,
    ) -> Result<(), CorruptRow> {
        self.comma();
        push_string(&mut self.0, name);
        self.0.extend_from_slice(b":[");
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.0.push(b',');
            }
            self.0.push(b'{');
            each(self, item)?;
            self.0.push(b'}');
        }
        self.0.push(b']');
        Ok(())
    }

    pub(super) fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}
