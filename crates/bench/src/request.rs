//! Signed requests as bytes, ready to send.

use lazuli_model::DateTime;
use lazuli_protocol::auth::{AccountKey, Scheme, SignedParts, authorization};
use lazuli_protocol::percent;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

/// Properties of an entity, and characters in each: about a kilobyte.
const PROPERTIES: usize = 10;
const PROPERTY_CHARS: usize = 90;

/// Makes requests for one server.
#[derive(Clone)]
pub struct Signer {
    authority: String,
    key: AccountKey,
}

impl Signer {
    /// For the server at this address.
    pub fn new(authority: &str) -> Self {
        let key = AccountKey::from_base64(DEVELOPMENT_KEY).expect("the key is well known");
        Self { authority: authority.to_owned(), key }
    }

    /// A request, signed for this moment.
    pub fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let date = lazuli_server::clock::now().http();
        let full = format!("/{DEVELOPMENT_ACCOUNT}{path}");
        let signed = full.split('?').next().unwrap_or(&full);
        let parts = SignedParts {
            method,
            content_md5: "",
            content_type: "",
            date: date.as_str(),
            account: DEVELOPMENT_ACCOUNT,
            path: signed,
            comp: None,
        };
        let authorization = authorization(&self.key, Scheme::SharedKeyLite, &parts);
        let content_type =
            if headers.contains("Content-Type") { "" } else { "Content-Type: application/json\r\n" };
        format!(
            "{method} {full} HTTP/1.1\r\nHost: {}\r\nx-ms-date: {date}\r\nx-ms-version: 2019-02-02\r\nDataServiceVersion: 3.0\r\nAccept: application/json;odata=nometadata\r\nAuthorization: {authorization}\r\n{content_type}{headers}Content-Length: {}\r\n\r\n{body}",
            self.authority,
            body.len()
        )
        .into_bytes()
    }

    /// A change set of inserts.
    pub fn batch(&self, table: &str, entities: &[(String, String)]) -> Vec<u8> {
        // Azurite looks for these names.
        let mut body =
            String::from("--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n");
        for (partition, row) in entities {
            body += &format!(
                "--changeset_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST http://{}/{DEVELOPMENT_ACCOUNT}/{table} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=nometadata\r\nPrefer: return-no-content\r\nDataServiceVersion: 3.0\r\n\r\n{}\r\n",
                self.authority,
                entity(partition, row)
            );
        }
        body += "--changeset_c--\r\n--batch_b--\r\n";
        self.request("POST", "/$batch", "Content-Type: multipart/mixed; boundary=batch_b\r\n", &body)
    }
}

/// The path of an entity.
pub fn entity_path(table: &str, partition: &str, row: &str) -> String {
    format!("/{table}(PartitionKey='{partition}',RowKey='{row}')")
}

/// The path of a query.
pub fn query_path(table: &str, filter: &str, rest: &str) -> String {
    let mut escaped = Vec::new();
    percent::encode_into(&mut escaped, filter);
    format!("/{table}()?$filter={}{rest}", String::from_utf8_lossy(&escaped))
}

/// An entity of about a kilobyte.
pub fn entity(partition: &str, row: &str) -> String {
    let mut text = format!("{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\"");
    for index in 0..PROPERTIES {
        text += &format!(",\"Prop{index}\":\"{}\"", "x".repeat(PROPERTY_CHARS));
    }
    text + "}"
}

/// The time now, for reports.
pub fn now() -> DateTime {
    lazuli_server::clock::now()
}
