//! The requests of a mixed history, and the interpretation of their responses.

use std::sync::Arc;

use lazuli_probe::{Request, Response};
use lazuli_protocol::auth::{AccountKey, signature_text};
use lazuli_protocol::table::continuation;
use serde_json::Value;

use super::record::{MixedOutput, PAGE_ROWS, ROWS, TableAction};
use super::shared::{HistoryKey, MixedShared};
use crate::table::wire::{entity_path, escaped};

const VERSION: &str = "2019-02-02";

/// Builds the requests for one account.
pub struct MixedRequests {
    pub shared: Arc<MixedShared>,
    pub authority: String,
}

impl MixedRequests {
    fn request(&self, method: &'static str, path: &str) -> Request {
        Request::new(method, format!("/{}{path}", self.shared.account))
            .with("Host", self.authority.clone())
            .with("x-ms-version", VERSION)
            .with("Accept", "application/json;odata=nometadata")
    }

    fn name(&self, table: usize) -> String {
        format!("{}{table}", self.shared.prefix)
    }

    /// An unsigned request. If there is a `continuation`, the page starts there.
    pub fn of(&self, table: usize, action: &TableAction, continuation: &str) -> Request {
        let name = self.name(table);
        match action {
            TableAction::Create => {
                let create = self.request("POST", "/Tables").with("Prefer", "return-no-content");
                create.json(format!("{{\"TableName\":\"{name}\"}}"))
            }
            TableAction::Delete => self.request("DELETE", &format!("/Tables('{name}')")),
            TableAction::End | TableAction::List => self.request("GET", "/Tables"),
            TableAction::Put { row, value } => {
                let put = self.request("PUT", &entity_path(&name, &partition(*row), &format!("r{row}")));
                put.json(format!("{{\"V\":{value}}}"))
            }
            TableAction::Get(row) => {
                self.request("GET", &entity_path(&name, &partition(*row), &format!("r{row}")))
            }
            TableAction::Page(_) | TableAction::UsePolicy(_) => {
                self.request("GET", &format!("/{name}()?$top={PAGE_ROWS}{continuation}"))
            }
            TableAction::SetPolicy(policy) => {
                let identifier = |number: &u32| {
                    format!(
                        "<SignedIdentifier><Id>p{number}</Id><AccessPolicy><Start>2020-01-01T00:00:00Z</Start>\
                         <Expiry>2099-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
                    )
                };
                let identifiers = policy.as_ref().map(identifier).unwrap_or_default();
                let set = self.request("PUT", &format!("/{name}?comp=acl"));
                set.with("Content-Type", "application/xml").body(format!(
                    "<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers>{identifiers}</SignedIdentifiers>"
                ))
            }
        }
    }

    /// A query whose signature is in its URL and refers to a policy. `None` if the key is invalid.
    pub fn with_policy(&self, table: usize, policy: u32, key: &HistoryKey) -> Option<Request> {
        let name = self.name(table);
        let resource = format!("/table/{}/{}", self.shared.account, name.to_lowercase());
        let text = format!("\n\n\n{resource}\np{policy}\n\n\n{VERSION}\n\n\n\n");
        let signature = escaped(&signature_text(&AccountKey::from_base64(&key.text)?.sign(&text)));
        let token = format!("&sv={VERSION}&si=p{policy}&tn={name}&sig={signature}");
        Some(self.of(table, &TableAction::UsePolicy(policy), &token))
    }

    /// The meaning of the response to an action. An error if the response is impossible.
    pub fn meaning(
        &self,
        table: usize,
        action: &TableAction,
        response: &Response,
    ) -> Result<MixedOutput, String> {
        let json: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let text = response.text();
        // Errors of access policies are XML.
        let in_xml =
            text.split("<m:code>").nth(1).and_then(|rest| rest.split('<').next()).unwrap_or_default();
        let code = json["odata.error"]["code"].as_str().unwrap_or(in_xml);
        let understood = match (action, response.status, code) {
            (TableAction::List, 200, _) => {
                let names = json["value"].as_array().ok_or("a list without tables")?;
                let is_listed = names.iter().any(|entry| entry["TableName"] == self.name(table));
                Some(MixedOutput::Listed(is_listed))
            }
            (TableAction::Get(_), 200, _) => Some(MixedOutput::Value(Some(value(&json)?))),
            (TableAction::Get(_), 404, "ResourceNotFound") => Some(MixedOutput::Value(None)),
            (TableAction::Page(_), 200, _) => Some(MixedOutput::Rows(rows(&json)?)),
            (TableAction::Create, 409, "TableAlreadyExists") => Some(MixedOutput::Exists),
            (TableAction::Delete, 404, _) | (_, 404, "TableNotFound") => Some(MixedOutput::Missing),
            (_, 200 | 201 | 204, _) => Some(MixedOutput::Applied),
            _ => None,
        };
        understood
            .ok_or_else(|| format!("{action:?} of table {table} got {} {}", response.status, response.text()))
    }
}

/// Two rows share a partition; the order of keys is the order of rows.
fn partition(row: usize) -> String {
    format!("p{}", row / 2)
}

fn value(entity: &Value) -> Result<u32, String> {
    let value = entity["V"].as_u64().and_then(|value| u32::try_from(value).ok());
    value.ok_or_else(|| format!("an entity without its value: {entity}"))
}

fn row_of(key: &str) -> Option<usize> {
    key.strip_prefix('r')?.parse().ok().filter(|row| *row < ROWS)
}

fn rows(page: &Value) -> Result<Vec<(usize, u32)>, String> {
    let entities = page["value"].as_array().ok_or("a page without a list")?;
    let row = |entity: &Value| {
        let row = entity["RowKey"].as_str().and_then(row_of);
        Ok((row.ok_or_else(|| format!("a row that nobody wrote: {entity}"))?, value(entity)?))
    };
    entities.iter().map(row).collect()
}

/// The first row of the next page, and the query parameters to request it. `None` after the last page.
pub fn next_page(response: &Response) -> Result<Option<(usize, String)>, String> {
    let Some(partition) = response.header("x-ms-continuation-NextPartitionKey") else { return Ok(None) };
    let row = response.header("x-ms-continuation-NextRowKey").ok_or("a continuation without a row")?;
    let key = continuation::decode(row).map_err(|failure| failure.message.to_string())?;
    let from = match key.strip_suffix('\0') {
        Some(before) => row_of(before).map(|row| row + 1),
        None => row_of(&key),
    };
    let from = from.ok_or_else(|| format!("a continuation at {key:?}"))?;
    Ok(Some((from, format!("&NextPartitionKey={}&NextRowKey={}", escaped(partition), escaped(row)))))
}
