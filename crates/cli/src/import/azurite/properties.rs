//! Service properties of Azurite: the CORS rules and the default version.

use std::path::Path;

use lazuli_protocol::xml::write::{document, leaf, nest};
use serde_json::Value as Json;

use super::{Report, account_of, loki, text};
use crate::fault::Fault;
use crate::storage::{Session, StorageRequest};

/// Sets the properties of a service that Azurite has for an account. Settings without a meaning at the
/// destination are omitted.
pub fn import(
    file: &Path,
    account: &str,
    session: &mut Session<'_>,
    report: &mut Report,
) -> Result<(), Fault> {
    loki::each(
        file,
        |name| name == "$SERVICES_COLLECTION$",
        |_, found: Json| {
            if account_of(&found) != Some(account) {
                return Ok(());
            }
            let Some(body) = body(&found) else { return Ok(()) };
            let call = StorageRequest::new("PUT", &[""])
                .with("restype", "service")
                .with("comp", "properties")
                .body(body);
            let call = call.header("Content-Type", "application/xml").repeatable();
            match session.send(&call) {
                Ok(_) => Ok(()),
                Err(fault) => report.problem("service properties", fault),
            }
        },
    )
}

/// The body of Set Service Properties; `None` if there is nothing to set.
fn body(found: &Json) -> Option<Vec<u8>> {
    let rules = found.get("cors").and_then(Json::as_array).filter(|rules| !rules.is_empty());
    let version = found.get("defaultServiceVersion").and_then(Json::as_str);
    if rules.is_none() && version.is_none() {
        return None;
    }
    Some(document(|out| {
        nest(out, "StorageServiceProperties", |out| {
            if let Some(rules) = rules {
                nest(out, "Cors", |out| {
                    rules.iter().for_each(|rule| nest(out, "CorsRule", |out| cors(out, rule)))
                });
            }
            if let Some(version) = version {
                leaf(out, "DefaultServiceVersion", version);
            }
        });
    }))
}

fn cors(out: &mut Vec<u8>, rule: &Json) {
    for (name, member) in [
        ("AllowedOrigins", "allowedOrigins"),
        ("AllowedMethods", "allowedMethods"),
        ("AllowedHeaders", "allowedHeaders"),
        ("ExposedHeaders", "exposedHeaders"),
    ] {
        leaf(out, name, text(rule, member));
    }
    let seconds = rule.get("maxAgeInSeconds").and_then(Json::as_u64).unwrap_or_default();
    leaf(out, "MaxAgeInSeconds", &seconds.to_string());
}
