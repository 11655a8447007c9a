//! The URLs of tables and entities that responses contain.

use crate::http::percent;
use crate::http::url::Base;

/// `Tables('name')`.
pub fn table_path(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b"Tables('");
    percent::encode_key_into(out, name);
    out.extend_from_slice(b"')");
}

/// `T(PartitionKey='p',RowKey='r')`.
pub fn entity_path(out: &mut Vec<u8>, table: &str, partition: &str, row: &str) {
    out.extend_from_slice(table.as_bytes());
    out.extend_from_slice(b"(PartitionKey='");
    percent::encode_key_into(out, partition);
    out.extend_from_slice(b"',RowKey='");
    percent::encode_key_into(out, row);
    out.extend_from_slice(b"')");
}

/// The absolute URL of a table.
pub fn table_url(base: &Base, name: &str) -> String {
    absolute(base, |out| table_path(out, name))
}

/// The absolute URL of an entity.
pub fn entity_url(base: &Base, table: &str, partition: &str, row: &str) -> String {
    absolute(base, |out| entity_path(out, table, partition, row))
}

fn absolute(base: &Base, path: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity(base.as_str().len() + 96);
    out.extend_from_slice(base.as_str().as_bytes());
    out.push(b'/');
    path(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let base = Base::new("http", "127.0.0.1:10002", Some("devstoreaccount1"));
        assert_eq!(table_url(&base, "abc"), "http://127.0.0.1:10002/devstoreaccount1/Tables('abc')");
        assert_eq!(
            entity_url(&Base::new("https", "a.table.core.windows.net", None), "T1t", "O'Hare", "a b"),
            "https://a.table.core.windows.net/T1t(PartitionKey='O''Hare',RowKey='a%20b')"
        );
    }
}
