//! An entity's properties packed for reading in place: find one without decoding the others, compare without
//! allocating, write JSON directly from it.
//!
//! Layout, version 1, integers little-endian:
//!
//! ```text
//! row       = 0x01 count:u16 names_bytes:u32 directory names values
//! directory = count x (kind:u8 name_bytes:u16 value_bytes:u32)
//! names     = the names, one after the other
//! values    = Boolean u8 | Int32 i32 | Int64 i64 | Double f64 bits | DateTime ticks:u64 | Guid 16 bytes | bytes
//! ```
//!
//! Lengths and names are stored together at the start, so that a search touches only a few cache lines, not the
//! values. Keys, version and checksum are not part of it: the engine stores them. Bytes in any other format
//! cause [`CorruptRow`], never a panic.

use bytes::Bytes;

use crate::{DateTime, EdmType, Guid, Properties, ValueRef};

const FORMAT: u8 = 1;
const HEAD_BYTES: usize = 7;
/// Bytes of the directory entry of each property.
pub const ENTRY_BYTES: usize = 7;

/// The packed properties of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedRow(Bytes);

/// The bytes are not a valid row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorruptRow;

impl std::fmt::Display for CorruptRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a stored row is in a format that this version cannot read")
    }
}

impl std::error::Error for CorruptRow {}

impl PackedRow {
    /// The packed form of checked properties.
    pub fn pack(properties: &Properties) -> Self {
        properties.row().clone()
    }

    /// Packs properties in their order. Their names and values are valid, so their lengths fit.
    pub(super) fn of(properties: &[(&str, ValueRef<'_>)]) -> Self {
        let names_bytes: usize = properties.iter().map(|(name, _)| name.len()).sum();
        let value_bytes: usize = properties.iter().map(|(_, value)| packed_bytes(*value)).sum();
        let bytes = HEAD_BYTES + properties.len() * ENTRY_BYTES + names_bytes + value_bytes;
        let mut out = Vec::with_capacity(bytes);
        push_head(&mut out, u16::try_from(properties.len()).expect("at most 252 properties"), names_bytes);
        for (name, value) in properties {
            push_entry(&mut out, name, value.kind(), packed_bytes(*value));
        }
        properties.iter().for_each(|(name, _)| out.extend_from_slice(name.as_bytes()));
        properties.iter().for_each(|(_, value)| push_value(&mut out, *value));
        Self(out.into())
    }

    /// Accepts bytes from storage. Only the head is checked here; the rest is checked when it is read.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, CorruptRow> {
        if bytes.len() < HEAD_BYTES || bytes[0] != FORMAT { Err(CorruptRow) } else { Ok(Self(bytes)) }
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// The number of properties.
    pub fn count(&self) -> usize {
        usize::from(u16::from_le_bytes([self.0[1], self.0[2]]))
    }

    /// The properties in stored order.
    pub fn iter(&self) -> Iter<'_> {
        RowRef(&self.0).iter()
    }

    /// The value of the property with that name.
    pub fn find(&self, name: &str) -> Result<Option<ValueRef<'_>>, CorruptRow> {
        RowRef(&self.0).find(name)
    }
}

/// Packed properties borrowed from storage, for inspection without copying.
#[derive(Clone, Copy, Debug)]
pub struct RowRef<'a>(&'a [u8]);

impl<'a> RowRef<'a> {
    /// Borrows bytes from storage.
    pub fn new(bytes: &'a [u8]) -> Result<Self, CorruptRow> {
        if bytes.len() < HEAD_BYTES || bytes[0] != FORMAT { Err(CorruptRow) } else { Ok(Self(bytes)) }
    }

    /// The properties in stored order.
    pub fn iter(&self) -> Iter<'a> {
        let left = u16::from_le_bytes([self.0[1], self.0[2]]);
        // If the directory is incomplete, the first step fails.
        let RowParts { directory, names, values } =
            self.parts().unwrap_or(RowParts { directory: &[], names: &[], values: &[] });
        Iter { directory, names, values, left }
    }

    /// The parts of the stored row, for iterating over many rows with the same layout.
    #[inline]
    pub fn parts(&self) -> Result<RowParts<'a>, CorruptRow> {
        let [_, count_low, count_high, names_bytes @ ..] =
            *self.0.first_chunk::<HEAD_BYTES>().ok_or(CorruptRow)?;
        let count = usize::from(u16::from_le_bytes([count_low, count_high]));
        let names_bytes = usize::try_from(u32::from_le_bytes(names_bytes)).map_err(|_| CorruptRow)?;
        let body = &self.0[HEAD_BYTES..];
        let (directory, rest) = body.split_at_checked(count * ENTRY_BYTES).ok_or(CorruptRow)?;
        let (names, values) = rest.split_at_checked(names_bytes).ok_or(CorruptRow)?;
        Ok(RowParts { directory, names, values })
    }

    /// The value of the property with that name. Other values are skipped without decoding.
    pub fn find(&self, name: &str) -> Result<Option<ValueRef<'a>>, CorruptRow> {
        let mut iter = self.iter();
        while iter.left > 0 {
            let raw = iter.advance()?;
            if raw.name == name.as_bytes() {
                return raw.value().map(Some);
            }
        }
        Ok(None)
    }
}

/// The parts of a stored row.
#[derive(Clone, Copy, Debug)]
pub struct RowParts<'a> {
    /// An entry of [`ENTRY_BYTES`] for each property: see [`Entry`].
    pub directory: &'a [u8],
    /// The names, one after the other.
    pub names: &'a [u8],
    /// The values, one after the other.
    pub values: &'a [u8],
}

/// The directory entry of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The type's number.
    pub kind: u8,
    /// The length of the name.
    pub name_bytes: usize,
    /// The length of the value.
    pub value_bytes: usize,
}

impl Entry {
    /// Reads an entry.
    #[inline]
    pub fn read(bytes: [u8; ENTRY_BYTES]) -> Self {
        let [kind, name_low, name_high, value_bytes @ ..] = bytes;
        Self {
            kind,
            name_bytes: usize::from(u16::from_le_bytes([name_low, name_high])),
            value_bytes: u32::from_le_bytes(value_bytes) as usize,
        }
    }
}

/// Iterates over the properties of a row.
pub struct Iter<'a> {
    directory: &'a [u8],
    names: &'a [u8],
    values: &'a [u8],
    left: u16,
}

/// A property whose value is not decoded yet, for callers that need only a few values.
pub struct RawProperty<'a> {
    kind: u8,
    name: &'a [u8],
    value: &'a [u8],
}

impl<'a> Iter<'a> {
    /// The next property, without decoding its value.
    pub fn next_raw(&mut self) -> Result<Option<RawProperty<'a>>, CorruptRow> {
        if self.left == 0 { Ok(None) } else { self.advance().map(Some) }
    }

    #[inline]
    fn advance(&mut self) -> Result<RawProperty<'a>, CorruptRow> {
        self.left -= 1;
        let (entry, directory) = self.directory.split_first_chunk::<ENTRY_BYTES>().ok_or(CorruptRow)?;
        let Entry { kind, name_bytes, value_bytes } = Entry::read(*entry);
        let (name, names) = self.names.split_at_checked(name_bytes).ok_or(CorruptRow)?;
        let (value, values) = self.values.split_at_checked(value_bytes).ok_or(CorruptRow)?;
        *self = Self { directory, names, values, left: self.left };
        Ok(RawProperty { kind, name, value })
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = Result<(&'a str, ValueRef<'a>), CorruptRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let property = self.advance().and_then(|raw| {
            let name = std::str::from_utf8(raw.name).map_err(|_| CorruptRow)?;
            Ok((name, raw.value()?))
        });
        if property.is_err() {
            self.left = 0;
        }
        Some(property)
    }
}

impl<'a> RawProperty<'a> {
    /// The name in UTF-8.
    pub fn name(&self) -> &'a [u8] {
        self.name
    }

    /// The UTF-8 of a string, unchecked: rows are packed from strings, and the engine verifies the bytes that
    /// it returns. An encoder copies them and looks only for characters that need escapes. `None` if the value
    /// is not a string.
    pub fn string(&self) -> Option<&'a [u8]> {
        (self.kind == EdmType::String as u8).then_some(self.value)
    }

    /// Decodes the value.
    pub fn value(&self) -> Result<ValueRef<'a>, CorruptRow> {
        decode(self.kind, self.value)
    }
}

/// Decodes the bytes of a value of the type with that number.
pub fn decode(kind: u8, value: &[u8]) -> Result<ValueRef<'_>, CorruptRow> {
    Ok(match EdmType::from_number(kind).ok_or(CorruptRow)? {
        EdmType::Binary => ValueRef::Binary(value),
        EdmType::String => ValueRef::String(std::str::from_utf8(value).map_err(|_| CorruptRow)?),
        EdmType::Boolean => match value {
            [0] => ValueRef::Boolean(false),
            [1] => ValueRef::Boolean(true),
            _ => return Err(CorruptRow),
        },
        EdmType::Int32 => ValueRef::Int32(i32::from_le_bytes(array(value)?)),
        EdmType::Int64 => ValueRef::Int64(i64::from_le_bytes(array(value)?)),
        EdmType::Double => ValueRef::Double(f64::from_le_bytes(array(value)?)),
        EdmType::Guid => ValueRef::Guid(Guid(array(value)?)),
        EdmType::DateTime => {
            ValueRef::DateTime(DateTime::from_ticks(u64::from_le_bytes(array(value)?)).ok_or(CorruptRow)?)
        }
    })
}

fn array<const N: usize>(value: &[u8]) -> Result<[u8; N], CorruptRow> {
    value.try_into().map_err(|_| CorruptRow)
}

/// Packs properties one by one.
#[derive(Default)]
pub struct RowBuilder {
    directory: Vec<u8>,
    names: Vec<u8>,
    values: Vec<u8>,
    count: u16,
}

impl RowBuilder {
    /// Appends a property. Names and values come from checked [`Properties`] or from another row, so their
    /// lengths fit.
    pub fn push(&mut self, name: &str, value: ValueRef<'_>) {
        push_entry(&mut self.directory, name, value.kind(), packed_bytes(value));
        self.names.extend_from_slice(name.as_bytes());
        push_value(&mut self.values, value);
        self.count += 1;
    }

    /// The packed row.
    pub fn finish(self) -> PackedRow {
        let parts = [&self.directory, &self.names, &self.values];
        let mut bytes = Vec::with_capacity(HEAD_BYTES + parts.iter().map(|part| part.len()).sum::<usize>());
        push_head(&mut bytes, self.count, self.names.len());
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        PackedRow(bytes.into())
    }
}

fn push_head(out: &mut Vec<u8>, count: u16, names_bytes: usize) {
    let names_bytes = u32::try_from(names_bytes).expect("names are at most 252 times 1 KiB");
    out.push(FORMAT);
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&names_bytes.to_le_bytes());
}

fn push_entry(out: &mut Vec<u8>, name: &str, kind: EdmType, value_bytes: usize) {
    let name_bytes = u16::try_from(name.len()).expect("a checked name is at most 255 characters");
    let value_bytes = u32::try_from(value_bytes).expect("a checked value is at most 128 KiB");
    out.push(kind as u8);
    out.extend_from_slice(&name_bytes.to_le_bytes());
    out.extend_from_slice(&value_bytes.to_le_bytes());
}

fn push_value(out: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::String(text) => out.extend_from_slice(text.as_bytes()),
        ValueRef::Binary(bytes) => out.extend_from_slice(bytes),
        ValueRef::Boolean(value) => out.push(u8::from(value)),
        ValueRef::Int32(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Int64(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Double(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::DateTime(value) => out.extend_from_slice(&value.ticks().to_le_bytes()),
        ValueRef::Guid(value) => out.extend_from_slice(&value.0),
    }
}

/// Number of bytes that [`push_value`] appends.
fn packed_bytes(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::String(text) => text.len(),
        ValueRef::Binary(bytes) => bytes.len(),
        ValueRef::Boolean(_) => 1,
        ValueRef::Int32(_) => 4,
        ValueRef::Int64(_) | ValueRef::Double(_) | ValueRef::DateTime(_) => 8,
        ValueRef::Guid(_) => 16,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Property, Value};

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..20).prop_map(Value::Binary),
            any::<bool>().prop_map(Value::Boolean),
            (DateTime::STORABLE_MIN.ticks()..=DateTime::MAX.ticks())
                .prop_map(|t| Value::DateTime(DateTime::from_ticks(t).unwrap())),
            any::<i64>().prop_map(|v| Value::Double(v as f64)),
            any::<[u8; 16]>().prop_map(|v| Value::Guid(Guid(v))),
            any::<i32>().prop_map(Value::Int32),
            any::<i64>().prop_map(Value::Int64),
            "\\PC{0,12}".prop_map(Value::String),
        ]
    }

    proptest! {
        #[test]
        fn unpacks_what_it_packed(values in proptest::collection::vec(value(), 0..12)) {
            let list: Vec<_> = values.into_iter().enumerate()
                .map(|(i, value)| Property { name: format!("p{i}"), value }).collect();
            let properties = Properties::new(list.clone()).unwrap();
            let row = PackedRow::pack(&properties);
            let back: Vec<_> = row.iter().map(Result::unwrap)
                .map(|(name, value)| Property { name: name.into(), value: value.to_value() }).collect();
            let mut builder = RowBuilder::default();
            list.iter().for_each(|property| builder.push(&property.name, property.value.as_ref()));
            prop_assert_eq!(&builder.finish(), &row);
            prop_assert_eq!(row.count(), list.len());
            for property in &list {
                prop_assert_eq!(row.find(&property.name).unwrap(), Some(property.value.as_ref()));
            }
            prop_assert_eq!(row.find("absent").unwrap(), None);
            prop_assert_eq!(back, list);
        }

        #[test]
        fn corrupt_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(row) = PackedRow::from_bytes(bytes.into()) {
                let _ = row.find("x");
                let _ = row.iter().count();
            }
        }

        #[test]
        fn flipped_bytes_never_panic(at in 0_usize..80, flip in 1_u8..) {
            let properties = Properties::new(vec![
                Property { name: "Name".into(), value: Value::String("text".into()) },
                Property { name: "Time".into(), value: Value::DateTime(DateTime::STORABLE_MIN) },
                Property { name: "Flag".into(), value: Value::Boolean(true) },
            ]).unwrap();
            let mut bytes = PackedRow::pack(&properties).as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            if let Ok(row) = PackedRow::from_bytes(bytes.into()) {
                let _ = row.find("Flag");
                let _ = row.iter().count();
            }
        }
    }
}
