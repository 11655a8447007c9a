//! The service's own records as bytes. Each starts with its format; a format is never changed, only followed by another.

use bytes::Bytes;
use lazuli_engine::{Error, Result, TableId};

const FORMAT: u8 = 1;

/// A live table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRecord {
    /// Its rows.
    pub id: TableId,
    /// Its name as created.
    pub name: String,
}

/// A deleted table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedRecord {
    /// Its rows.
    pub id: TableId,
    /// When it was deleted, in ticks.
    pub at: u64,
}

/// An account with its keys.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountRecord {
    /// The two keys.
    pub keys: [Vec<u8>; 2],
    /// When it was created, in ticks.
    pub created: u64,
}

impl TableRecord {
    /// The record as bytes.
    pub fn encode(&self) -> Bytes {
        Writer::new().number(self.id.0).bytes(self.name.as_bytes()).finish()
    }

    /// The record from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes)?;
        let id = TableId(reader.number()?);
        let name = String::from_utf8(reader.bytes()?.to_vec()).map_err(|_| corrupt())?;
        reader.finish(Self { id, name })
    }
}

impl DroppedRecord {
    /// The record as bytes.
    pub fn encode(&self) -> Bytes {
        Writer::new().number(self.id.0).number(self.at).finish()
    }

    /// The record from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes)?;
        let record = Self { id: TableId(reader.number()?), at: reader.number()? };
        reader.finish(record)
    }
}

impl AccountRecord {
    /// The record as bytes.
    pub fn encode(&self) -> Bytes {
        Writer::new().bytes(&self.keys[0]).bytes(&self.keys[1]).number(self.created).finish()
    }

    /// The record from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes)?;
        let keys = [reader.bytes()?.to_vec(), reader.bytes()?.to_vec()];
        let created = reader.number()?;
        reader.finish(Self { keys, created })
    }
}

fn corrupt() -> Error {
    Error::Corrupt("a catalog record is not in a form that this version reads".into())
}

struct Writer(Vec<u8>);

impl Writer {
    fn new() -> Self {
        Self(vec![FORMAT])
    }

    fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        let length = u16::try_from(bytes.len()).expect("names and keys are far shorter than 64 KiB");
        self.0.extend_from_slice(&length.to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    fn finish(self) -> Bytes {
        self.0.into()
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&FORMAT, rest)) => Ok(Self(rest)),
            _ => Err(corrupt()),
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length).ok_or_else(corrupt)?;
        self.0 = rest;
        Ok(head)
    }

    fn number(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| corrupt())?))
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = u16::from_le_bytes(self.take(2)?.try_into().map_err(|_| corrupt())?);
        self.take(usize::from(length))
    }

    fn finish<T>(self, record: T) -> Result<T> {
        if self.0.is_empty() { Ok(record) } else { Err(corrupt()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back() {
        let table = TableRecord { id: TableId(7), name: "Blogs".into() };
        assert_eq!(TableRecord::decode(&table.encode()), Ok(table));
        let dropped = DroppedRecord { id: TableId(7), at: 99 };
        assert_eq!(DroppedRecord::decode(&dropped.encode()), Ok(dropped));
        let account = AccountRecord { keys: [vec![1; 64], vec![2; 64]], created: 5 };
        assert!(AccountRecord::decode(&account.encode()) == Ok(account));
    }

    #[test]
    fn damaged_records_are_errors() {
        let good = TableRecord { id: TableId(7), name: "Blogs".into() }.encode();
        for end in 0..good.len() {
            assert_eq!(TableRecord::decode(&good[..end]), Err(corrupt()));
        }
        let mut longer = good.to_vec();
        longer.push(0);
        assert_eq!(TableRecord::decode(&longer), Err(corrupt()));
        let mut other = good.to_vec();
        other[0] = 2;
        assert_eq!(TableRecord::decode(&other), Err(corrupt()));
    }
}
