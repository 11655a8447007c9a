//! The service's own records as bytes. Each starts with its format. A format never changes; instead, a new one
//! is added.
//!
//! A record is written in the oldest format that can represent it, so that stores of earlier versions stay
//! unchanged.

mod codec;
mod properties;

use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::{Result, TableId};
use lazuli_model::DateTime;
use lazuli_model::policy::{AccessPolicy, SignedIdentifier};

pub use codec::{RecordReader, RecordWriter, corrupt};
pub use properties::{decode_properties, encode_properties};

use codec::FORMAT;

/// A container with policies.
const FORMAT_POLICIES: u8 = 2;
/// A container with several engine tables or with data.
const FORMAT_DATA: u8 = 3;
/// A deleted container with several engine tables.
const FORMAT_MORE: u8 = 2;
/// An account that requires HTTPS.
const FORMAT_HTTPS_ONLY: u8 = 2;
/// An account with its own number, or one that is being removed.
const FORMAT_NUMBERED: u8 = 3;

/// A live table, queue or blob container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerRecord {
    /// The engine table of its rows.
    pub id: TableId,
    /// Further engine tables: a blob container has one.
    pub more: Vec<TableId>,
    /// Its name as created.
    pub name: String,
    /// Its stored access policies. They are in the same record, so that they are deleted with it.
    pub policies: Arc<[SignedIdentifier]>,
    /// Everything that its service stores about it, in a format of that service. Tables have none.
    pub data: Bytes,
}

/// A deleted table, queue or blob container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedRecord {
    /// The engine table of its rows.
    pub id: TableId,
    /// Further engine tables.
    pub more: Vec<TableId>,
    /// The time of its deletion, in ticks.
    pub at: u64,
}

/// A deleted blob container that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRecord {
    /// Its record.
    pub record: ContainerRecord,
    /// The time of its deletion, in ticks.
    pub at: u64,
    /// The time until which it can be restored, in ticks.
    pub until: u64,
}

/// An account with its keys.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountRecord {
    /// The two keys.
    pub keys: [Vec<u8>; 2],
    /// The time of its creation, in ticks.
    pub created: u64,
    /// Requests over plain HTTP are rejected.
    pub https_only: bool,
    /// The number of its home: see [`crate::keyspace`]. Accounts of earlier versions have none.
    pub number: Option<u64>,
    /// It is being removed: nothing can be created in it until the removal has succeeded or failed.
    pub is_closing: bool,
}

impl ContainerRecord {
    /// All its engine tables.
    pub fn ids(&self) -> impl Iterator<Item = TableId> {
        std::iter::once(self.id).chain(self.more.iter().copied())
    }

    /// The record as bytes.
    pub fn encode(&self) -> Bytes {
        let format = match self {
            _ if !self.more.is_empty() || !self.data.is_empty() => FORMAT_DATA,
            _ if !self.policies.is_empty() => FORMAT_POLICIES,
            _ => FORMAT,
        };
        let mut writer = RecordWriter::with_format(format).number(self.id.0).bytes(self.name.as_bytes());
        if format >= FORMAT_POLICIES {
            writer = writer.list(&self.policies, write_identifier);
        }
        if format >= FORMAT_DATA {
            writer = writer.list(&self.more, write_id).long_bytes(&self.data);
        }
        writer.finish()
    }

    /// The record from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (format, mut reader) = RecordReader::with_format(bytes)?;
        if !(FORMAT..=FORMAT_DATA).contains(&format) {
            return Err(corrupt());
        }
        let id = TableId(reader.number()?);
        let name = reader.text()?;
        let policies =
            if format >= FORMAT_POLICIES { reader.list(read_identifier)?.into() } else { Arc::default() };
        let (more, data) = if format >= FORMAT_DATA {
            (reader.list(read_id)?, Bytes::copy_from_slice(reader.long_bytes()?))
        } else {
            (Vec::new(), Bytes::new())
        };
        reader.finish(Self { id, more, name, policies, data })
    }
}

fn write_id(writer: RecordWriter, id: &TableId) -> RecordWriter {
    writer.number(id.0)
}

fn read_id(reader: &mut RecordReader<'_>) -> Result<TableId> {
    reader.number().map(TableId)
}

fn write_identifier(writer: RecordWriter, identifier: &SignedIdentifier) -> RecordWriter {
    let policy = identifier.policy.as_ref();
    let time = |time: Option<DateTime>| time.map(DateTime::ticks);
    writer
        .bytes(identifier.id.as_bytes())
        .flag(policy.is_some())
        .maybe_number(policy.and_then(|policy| time(policy.start)))
        .maybe_number(policy.and_then(|policy| time(policy.expiry)))
        .maybe_text(policy.and_then(|policy| policy.permissions.as_deref()))
}

fn read_identifier(reader: &mut RecordReader<'_>) -> Result<SignedIdentifier> {
    let id = reader.text()?;
    let has_policy = reader.flag()?;
    let policy = AccessPolicy {
        start: read_time(reader)?,
        expiry: read_time(reader)?,
        permissions: reader.maybe(|reader| reader.text())?,
    };
    Ok(SignedIdentifier { id, policy: has_policy.then_some(policy) })
}

fn read_time(reader: &mut RecordReader<'_>) -> Result<Option<DateTime>> {
    reader.maybe(|reader| DateTime::from_ticks(reader.number()?).ok_or_else(corrupt))
}

impl DroppedRecord {
    /// All its engine tables.
    pub fn ids(&self) -> impl Iterator<Item = TableId> {
        std::iter::once(self.id).chain(self.more.iter().copied())
    }

    /// The record as bytes.
    pub fn encode(&self) -> Bytes {
        let format = if self.more.is_empty() { FORMAT } else { FORMAT_MORE };
        let writer = RecordWriter::with_format(format).number(self.id.0).number(self.at);
        let writer = if format == FORMAT_MORE { writer.list(&self.more, write_id) } else { writer };
        writer.finish()
    }

    /// The record from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (format, mut reader) = RecordReader::with_format(bytes)?;
        if format != FORMAT && format != FORMAT_MORE {
            return Err(corrupt());
        }
        let (id, at) = (TableId(reader.number()?), reader.number()?);
        let more = if format == FORMAT_MORE { reader.list(read_id)? } else { Vec::new() };
        reader.finish(Self { id, more, at })
    }
}

impl KeptRecord {
    /// The record as bytes.
    pub fn encode(&self) -> Bytes {
        RecordWriter::with_format(FORMAT)
            .number(self.at)
            .number(self.until)
            .long_bytes(&self.record.encode())
            .finish()
    }

    /// The record from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (format, mut reader) = RecordReader::with_format(bytes)?;
        if format != FORMAT {
            return Err(corrupt());
        }
        let (at, until) = (reader.number()?, reader.number()?);
        let record = ContainerRecord::decode(reader.long_bytes()?)?;
        reader.finish(Self { record, at, until })
    }
}

impl AccountRecord {
    /// The record as bytes.
    pub fn encode(&self) -> Bytes {
        let format = match self {
            _ if self.number.is_some() || self.is_closing => FORMAT_NUMBERED,
            _ if self.https_only => FORMAT_HTTPS_ONLY,
            _ => FORMAT,
        };
        let [first, second] = &self.keys;
        let writer = RecordWriter::with_format(format).bytes(first).bytes(second).number(self.created);
        if format < FORMAT_NUMBERED {
            return writer.finish();
        }
        writer.flag(self.https_only).maybe_number(self.number).flag(self.is_closing).finish()
    }

    /// The record from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (format, mut reader) = RecordReader::with_format(bytes)?;
        if !(FORMAT..=FORMAT_NUMBERED).contains(&format) {
            return Err(corrupt());
        }
        let keys = [reader.bytes()?.to_vec(), reader.bytes()?.to_vec()];
        let created = reader.number()?;
        let (https_only, number, is_closing) = if format == FORMAT_NUMBERED {
            (reader.flag()?, reader.maybe(|reader| reader.number())?, reader.flag()?)
        } else {
            (format == FORMAT_HTTPS_ONLY, None, false)
        };
        reader.finish(Self { keys, created, https_only, number, is_closing })
    }
}

/// Reads bytes as every kind of record, for fuzzing. A readable record must stay the same when it is written
/// and read again.
#[doc(hidden)]
pub fn check_records(bytes: &[u8]) {
    if let Ok(record) = ContainerRecord::decode(bytes) {
        assert_eq!(ContainerRecord::decode(&record.encode()).ok(), Some(record));
    }
    if let Ok(record) = DroppedRecord::decode(bytes) {
        assert_eq!(DroppedRecord::decode(&record.encode()).ok(), Some(record));
    }
    if let Ok(record) = KeptRecord::decode(bytes) {
        assert_eq!(KeptRecord::decode(&record.encode()).ok(), Some(record));
    }
    if let Ok(record) = AccountRecord::decode(bytes) {
        assert!(AccountRecord::decode(&record.encode()).is_ok_and(|again| again == record));
    }
    if let Ok(properties) = decode_properties(bytes) {
        assert_eq!(decode_properties(&encode_properties(&properties)).ok(), Some(properties));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> ContainerRecord {
        let (more, policies, data) = Default::default();
        ContainerRecord { id: TableId(7), more, name: "Blogs".into(), policies, data }
    }

    fn with_policies() -> ContainerRecord {
        let policy =
            AccessPolicy { start: DateTime::from_ticks(5), expiry: None, permissions: Some("ra".into()) };
        ContainerRecord {
            policies: Arc::new([
                SignedIdentifier { id: "one".into(), policy: Some(policy) },
                SignedIdentifier { id: "two".into(), policy: None },
            ]),
            ..table()
        }
    }

    fn with_data() -> ContainerRecord {
        ContainerRecord { more: vec![TableId(8)], data: Bytes::from_static(b"lease"), ..with_policies() }
    }

    #[test]
    fn records_read_back() {
        let only_data = ContainerRecord { data: Bytes::from_static(b"metadata"), ..table() };
        for container in [table(), with_policies(), with_data(), only_data] {
            assert_eq!(ContainerRecord::decode(&container.encode()), Ok(container));
        }
        let kept = KeptRecord { record: with_data(), at: 5, until: 6 };
        assert_eq!(KeptRecord::decode(&kept.encode()), Ok(kept));
        for more in [vec![], vec![TableId(8), TableId(9)]] {
            let dropped = DroppedRecord { id: TableId(7), more, at: 99 };
            assert_eq!(DroppedRecord::decode(&dropped.encode()), Ok(dropped));
        }
        for (https_only, number, is_closing, format) in [
            (false, None, false, 1),
            (true, None, false, 2),
            (false, Some(7), false, 3),
            (true, Some(7), true, 3),
            (true, None, true, 3),
        ] {
            let keys = [vec![1; 64], vec![2; 64]];
            let account = AccountRecord { keys, created: 5, https_only, number, is_closing };
            assert_eq!(account.encode()[0], format);
            assert!(AccountRecord::decode(&account.encode()) == Ok(account));
        }
    }

    /// A table is encoded as before there were policies or other services.
    #[test]
    fn formats_stay() {
        let old = [&[1][..], &7_u64.to_le_bytes(), &5_u16.to_le_bytes(), b"Blogs"].concat();
        assert_eq!(table().encode(), old);
        assert_eq!(with_policies().encode()[0], 2);
        let old = [&[1][..], &7_u64.to_le_bytes(), &99_u64.to_le_bytes()].concat();
        assert_eq!(DroppedRecord { id: TableId(7), more: Vec::new(), at: 99 }.encode(), old);
    }

    #[test]
    fn damaged_records_are_errors() {
        for good in [table().encode(), with_policies().encode(), with_data().encode()] {
            for end in 0..good.len() {
                assert_eq!(ContainerRecord::decode(&good[..end]), Err(corrupt()));
            }
            let mut longer = good.to_vec();
            longer.push(0);
            assert_eq!(ContainerRecord::decode(&longer), Err(corrupt()));
            let mut other = good.to_vec();
            other[0] = 4;
            assert_eq!(ContainerRecord::decode(&other), Err(corrupt()));
        }
    }
}
