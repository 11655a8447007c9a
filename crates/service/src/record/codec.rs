//! The building blocks of records: numbers, strings and lists as bytes.
//!
//! Reading never panics, and never allocates or loops beyond the size of the record, for any bytes.

use bytes::Bytes;
use lazuli_engine::{Error, Result};

/// The first format of every record.
pub const FORMAT: u8 = 1;

/// The error for bytes that are not a record of a known format.
pub fn corrupt() -> Error {
    Error::Corrupt("a catalog record is in a format that this version cannot read".into())
}

/// Appends fields to a record.
pub struct RecordWriter(Vec<u8>);

impl RecordWriter {
    /// A record of the first format.
    pub fn new() -> Self {
        Self::with_format(FORMAT)
    }

    /// A record of another format.
    pub fn with_format(format: u8) -> Self {
        Self(vec![format])
    }

    pub fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// A string or key of less than 64 KiB.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        let length = u16::try_from(bytes.len()).expect("names and keys are far shorter than 64 KiB");
        self.0.extend_from_slice(&length.to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    /// Bytes of any length up to 4 GiB.
    pub fn long_bytes(mut self, bytes: &[u8]) -> Self {
        let length = u32::try_from(bytes.len()).expect("the engine takes no value that long");
        self.0.extend_from_slice(&length.to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn flag(mut self, flag: bool) -> Self {
        self.0.push(u8::from(flag));
        self
    }

    pub fn maybe_number(self, number: Option<u64>) -> Self {
        let writer = self.flag(number.is_some());
        number.into_iter().fold(writer, Self::number)
    }

    pub fn maybe_text(self, text: Option<&str>) -> Self {
        let writer = self.flag(text.is_some());
        text.into_iter().fold(writer, |writer, text| writer.bytes(text.as_bytes()))
    }

    pub fn list<T>(self, items: &[T], write: impl Fn(Self, &T) -> Self) -> Self {
        items.iter().fold(self.number(items.len() as u64), write)
    }

    pub fn finish(self) -> Bytes {
        self.0.into()
    }
}

/// Reads the fields of a record one after the other.
pub struct RecordReader<'a>(&'a [u8]);

impl<'a> RecordReader<'a> {
    /// Reads a record of the first format.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        match Self::with_format(bytes)? {
            (FORMAT, reader) => Ok(reader),
            _ => Err(corrupt()),
        }
    }

    /// Reads a record; returns its format, which the caller checks.
    pub fn with_format(bytes: &'a [u8]) -> Result<(u8, Self)> {
        let (&format, rest) = bytes.split_first().ok_or_else(corrupt)?;
        Ok((format, Self(rest)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length).ok_or_else(corrupt)?;
        self.0 = rest;
        Ok(head)
    }

    pub fn number(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| corrupt())?))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = u16::from_le_bytes(self.take(2)?.try_into().map_err(|_| corrupt())?);
        self.take(usize::from(length))
    }

    pub fn long_bytes(&mut self) -> Result<&'a [u8]> {
        let length = u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| corrupt())?);
        self.take(usize::try_from(length).map_err(|_| corrupt())?)
    }

    pub fn text(&mut self) -> Result<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| corrupt())
    }

    pub fn flag(&mut self) -> Result<bool> {
        match self.take(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(corrupt()),
        }
    }

    pub fn maybe<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    pub fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        // Each item takes at least one byte, so a damaged count cannot cause allocations or loops beyond the
        // size of the record.
        let count = self.number()?;
        if count > self.0.len() as u64 {
            return Err(corrupt());
        }
        (0..count).map(|_| read(self)).collect()
    }

    pub fn finish<T>(self, record: T) -> Result<T> {
        if self.0.is_empty() { Ok(record) } else { Err(corrupt()) }
    }
}
