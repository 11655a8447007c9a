//! The service's own records as bytes. Each starts with its format; a format is never changed, only followed by another.

use bytes::Bytes;
use lazuli_engine::{Error, Result, TableId};
use lazuli_model::policy::{AccessPolicy, SignedIdentifier};
use lazuli_model::service::{CorsRule, Logging, Metrics};
use lazuli_model::{DateTime, ServiceProperties};

const FORMAT: u8 = 1;
/// A table with policies.
const FORMAT_POLICIES: u8 = 2;
/// An account that is reached by HTTPS only.
const FORMAT_HTTPS_ONLY: u8 = 2;

/// A live table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRecord {
    /// Its rows.
    pub id: TableId,
    /// Its name as created.
    pub name: String,
    /// Its stored access policies: in the same record, so that they go with the table.
    pub policies: Vec<SignedIdentifier>,
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
    /// Requests by plain HTTP are refused.
    pub https_only: bool,
}

impl TableRecord {
    /// The record as bytes.
    pub fn encode(&self) -> Bytes {
        let format = if self.policies.is_empty() { FORMAT } else { FORMAT_POLICIES };
        let mut writer = Writer(vec![format]).number(self.id.0).bytes(self.name.as_bytes());
        if format == FORMAT_POLICIES {
            writer = writer.list(&self.policies, |writer, identifier| {
                let policy = identifier.policy.as_ref();
                let time = |time: Option<DateTime>| time.map(DateTime::ticks);
                writer
                    .bytes(identifier.id.as_bytes())
                    .flag(policy.is_some())
                    .maybe_number(policy.and_then(|policy| time(policy.start)))
                    .maybe_number(policy.and_then(|policy| time(policy.expiry)))
                    .maybe_text(policy.and_then(|policy| policy.permissions.as_deref()))
            });
        }
        writer.finish()
    }

    /// The record from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (&format, rest) = bytes.split_first().ok_or_else(corrupt)?;
        if format != FORMAT && format != FORMAT_POLICIES {
            return Err(corrupt());
        }
        let mut reader = Reader(rest);
        let id = TableId(reader.number()?);
        let name = reader.text()?;
        let policies =
            if format == FORMAT_POLICIES { reader.list(|reader| reader.identifier())? } else { Vec::new() };
        reader.finish(Self { id, name, policies })
    }
}

/// The properties of an account's table service as bytes.
pub fn encode_properties(properties: &ServiceProperties) -> Bytes {
    let days = |days: Option<u16>| days.map(u64::from);
    let Logging { read, write, delete, retention_days } = properties.logging;
    let mut writer = Writer::new().flag(read).flag(write).flag(delete).maybe_number(days(retention_days));
    for metrics in [properties.hour_metrics, properties.minute_metrics] {
        writer = writer
            .maybe_number(metrics.include_apis.map(u64::from))
            .maybe_number(days(metrics.retention_days));
    }
    writer
        .list(&properties.cors, |writer, rule| {
            let lists = [&rule.origins, &rule.methods, &rule.allowed_headers, &rule.exposed_headers];
            lists
                .iter()
                .fold(writer, |writer, list| writer.list(list, |writer, text| writer.bytes(text.as_bytes())))
                .number(rule.max_age_seconds.into())
        })
        .maybe_text(properties.default_version.as_deref())
        .finish()
}

/// The properties of an account's table service from bytes.
pub fn decode_properties(bytes: &[u8]) -> Result<ServiceProperties> {
    let mut reader = Reader::new(bytes)?;
    let logging = Logging {
        read: reader.flag()?,
        write: reader.flag()?,
        delete: reader.flag()?,
        retention_days: reader.days()?,
    };
    let properties = ServiceProperties {
        logging,
        hour_metrics: reader.metrics()?,
        minute_metrics: reader.metrics()?,
        cors: reader.list(|reader| {
            Ok(CorsRule {
                origins: reader.list(|reader| reader.text())?,
                methods: reader.list(|reader| reader.text())?,
                allowed_headers: reader.list(|reader| reader.text())?,
                exposed_headers: reader.list(|reader| reader.text())?,
                max_age_seconds: u32::try_from(reader.number()?).map_err(|_| corrupt())?,
            })
        })?,
        default_version: reader.maybe(|reader| reader.text())?,
    };
    reader.finish(properties)
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
        let format = if self.https_only { FORMAT_HTTPS_ONLY } else { FORMAT };
        Writer(vec![format]).bytes(&self.keys[0]).bytes(&self.keys[1]).number(self.created).finish()
    }

    /// The record from bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (&format, rest) = bytes.split_first().ok_or_else(corrupt)?;
        if format != FORMAT && format != FORMAT_HTTPS_ONLY {
            return Err(corrupt());
        }
        let mut reader = Reader(rest);
        let keys = [reader.bytes()?.to_vec(), reader.bytes()?.to_vec()];
        let created = reader.number()?;
        reader.finish(Self { keys, created, https_only: format == FORMAT_HTTPS_ONLY })
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

    fn flag(mut self, flag: bool) -> Self {
        self.0.push(u8::from(flag));
        self
    }

    fn maybe_number(self, number: Option<u64>) -> Self {
        let writer = self.flag(number.is_some());
        number.into_iter().fold(writer, Self::number)
    }

    fn maybe_text(self, text: Option<&str>) -> Self {
        let writer = self.flag(text.is_some());
        text.into_iter().fold(writer, |writer, text| writer.bytes(text.as_bytes()))
    }

    fn list<T>(self, items: &[T], write: impl Fn(Self, &T) -> Self) -> Self {
        items.iter().fold(self.number(items.len() as u64), write)
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

    fn text(&mut self) -> Result<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| corrupt())
    }

    fn flag(&mut self) -> Result<bool> {
        match self.take(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(corrupt()),
        }
    }

    fn maybe<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        // Each item takes at least a byte, so that a damaged count cannot make us reserve or loop beyond the record.
        let count = self.number()?;
        if count > self.0.len() as u64 {
            return Err(corrupt());
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn time(&mut self) -> Result<Option<DateTime>> {
        self.maybe(|reader| DateTime::from_ticks(reader.number()?).ok_or_else(corrupt))
    }

    fn days(&mut self) -> Result<Option<u16>> {
        self.maybe(|reader| u16::try_from(reader.number()?).map_err(|_| corrupt()))
    }

    fn metrics(&mut self) -> Result<Metrics> {
        let include_apis = self.maybe(|reader| match reader.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(corrupt()),
        })?;
        Ok(Metrics { include_apis, retention_days: self.days()? })
    }

    fn identifier(&mut self) -> Result<SignedIdentifier> {
        let id = self.text()?;
        let has_policy = self.flag()?;
        let policy = AccessPolicy {
            start: self.time()?,
            expiry: self.time()?,
            permissions: self.maybe(|reader| reader.text())?,
        };
        Ok(SignedIdentifier { id, policy: has_policy.then_some(policy) })
    }

    fn finish<T>(self, record: T) -> Result<T> {
        if self.0.is_empty() { Ok(record) } else { Err(corrupt()) }
    }
}

/// Reads bytes as every kind of record: for fuzzing. What can be read is written as it was, but for older formats.
#[doc(hidden)]
pub fn check_records(bytes: &[u8]) {
    if let Ok(record) = TableRecord::decode(bytes) {
        assert_eq!(TableRecord::decode(&record.encode()).ok(), Some(record));
    }
    if let Ok(record) = DroppedRecord::decode(bytes) {
        assert_eq!(DroppedRecord::decode(&record.encode()).ok(), Some(record));
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

    fn table() -> TableRecord {
        TableRecord { id: TableId(7), name: "Blogs".into(), policies: Vec::new() }
    }

    fn with_policies() -> TableRecord {
        let policy =
            AccessPolicy { start: DateTime::from_ticks(5), expiry: None, permissions: Some("ra".into()) };
        TableRecord {
            policies: vec![
                SignedIdentifier { id: "one".into(), policy: Some(policy) },
                SignedIdentifier { id: "two".into(), policy: None },
            ],
            ..table()
        }
    }

    fn properties() -> ServiceProperties {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        ServiceProperties {
            logging: Logging { read: true, write: false, delete: true, retention_days: Some(7) },
            hour_metrics: Metrics { include_apis: Some(true), retention_days: None },
            minute_metrics: Metrics::default(),
            cors: vec![CorsRule {
                origins: texts(&["*"]),
                methods: texts(&["GET", "PUT"]),
                allowed_headers: texts(&[]),
                exposed_headers: texts(&["x-ms-*"]),
                max_age_seconds: 60,
            }],
            default_version: Some("2019-02-02".into()),
        }
    }

    #[test]
    fn records_read_back() {
        for table in [table(), with_policies()] {
            assert_eq!(TableRecord::decode(&table.encode()), Ok(table));
        }
        let dropped = DroppedRecord { id: TableId(7), at: 99 };
        assert_eq!(DroppedRecord::decode(&dropped.encode()), Ok(dropped));
        for https_only in [false, true] {
            let account = AccountRecord { keys: [vec![1; 64], vec![2; 64]], created: 5, https_only };
            assert_eq!(account.encode()[0], if https_only { 2 } else { 1 });
            assert!(AccountRecord::decode(&account.encode()) == Ok(account));
        }
        for properties in [ServiceProperties::default(), properties()] {
            assert_eq!(decode_properties(&encode_properties(&properties)), Ok(properties));
        }
    }

    /// A table without policies is written as it was before there were any.
    #[test]
    fn formats_stay() {
        let old = [&[1][..], &7_u64.to_le_bytes(), &5_u16.to_le_bytes(), b"Blogs"].concat();
        assert_eq!(table().encode(), old);
        assert_eq!(with_policies().encode()[0], 2);
    }

    #[test]
    fn damaged_records_are_errors() {
        for good in [table().encode(), with_policies().encode()] {
            for end in 0..good.len() {
                assert_eq!(TableRecord::decode(&good[..end]), Err(corrupt()));
            }
            let mut longer = good.to_vec();
            longer.push(0);
            assert_eq!(TableRecord::decode(&longer), Err(corrupt()));
            let mut other = good.to_vec();
            other[0] = 3;
            assert_eq!(TableRecord::decode(&other), Err(corrupt()));
        }
        let good = encode_properties(&properties());
        for end in 0..good.len() {
            assert_eq!(decode_properties(&good[..end]), Err(corrupt()));
        }
        for at in 0..good.len() {
            let mut bad = good.to_vec();
            bad[at] ^= 0xff;
            let _ = decode_properties(&bad);
        }
    }
}
