//! Requests of the Table service.

use lazuli_probe::Request;
use lazuli_protocol::http::percent;

use crate::session::BenchAccount;

/// Number of properties of an entity, and of characters in each: about a kilobyte in total.
const PROPERTIES: usize = 10;
const PROPERTY_CHARS: usize = 90;

/// A request with the headers that a client of tables sends.
pub fn request(account: &BenchAccount, method: &'static str, path: &str) -> Request {
    account
        .request(method, path)
        .with("DataServiceVersion", "3.0")
        .with("Accept", "application/json;odata=nometadata")
}

/// Creates a table.
pub fn create_table(account: &BenchAccount, table: &str) -> Request {
    request(account, "POST", "/Tables").json(format!("{{\"TableName\":\"{table}\"}}"))
}

/// Inserts an entity.
pub fn insert(account: &BenchAccount, table: &str, partition: &str, row: &str) -> Request {
    request(account, "POST", &format!("/{table}"))
        .with("Prefer", "return-no-content")
        .json(entity(partition, row))
}

/// Inserts or replaces an entity.
pub fn upsert(account: &BenchAccount, table: &str, partition: &str, row: &str) -> Request {
    request(account, "PUT", &entity_path(table, partition, row)).json(entity(partition, row))
}

/// Reads an entity.
pub fn get(account: &BenchAccount, table: &str, partition: &str, row: &str) -> Request {
    request(account, "GET", &entity_path(table, partition, row))
}

/// Queries a table.
pub fn query(account: &BenchAccount, table: &str, filter: &str, rest: &str) -> Request {
    let mut escaped = Vec::new();
    percent::encode_into(&mut escaped, filter);
    let path = format!("/{table}()?$filter={}{rest}", String::from_utf8_lossy(&escaped));
    request(account, "GET", &path)
}

/// A transaction of inserts.
pub fn transaction(account: &BenchAccount, table: &str, entities: &[(String, String)]) -> Request {
    let (authority, name) = (account.authority(), account.name());
    // Azurite looks for these boundaries.
    let mut body = String::from("--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n");
    for (partition, row) in entities {
        body += &format!(
            "--changeset_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST http://{authority}/{name}/{table} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=nometadata\r\nPrefer: return-no-content\r\nDataServiceVersion: 3.0\r\n\r\n{}\r\n",
            entity(partition, row)
        );
    }
    body += "--changeset_c--\r\n--batch_b--\r\n";
    request(account, "POST", "/$batch").with("Content-Type", "multipart/mixed; boundary=batch_b").body(body)
}

/// The path of an entity.
pub fn entity_path(table: &str, partition: &str, row: &str) -> String {
    format!("/{table}(PartitionKey='{partition}',RowKey='{row}')")
}

/// An entity of about a kilobyte.
pub fn entity(partition: &str, row: &str) -> String {
    let mut text = format!("{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\"");
    for index in 0..PROPERTIES {
        text += &format!(",\"Prop{index}\":\"{}\"", "x".repeat(PROPERTY_CHARS));
    }
    text + "}"
}
