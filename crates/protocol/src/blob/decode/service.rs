//! Operations on the service.

use lazuli_model::Failure;
use lazuli_model::blob::Operation;
use lazuli_model::blob::operation::{AccountScope, KeyPeriod};
use lazuli_model::{DateTime, PropertiesUpdate};

use super::{Ask, Document, Intent, list, unknown_comp, verb};
use crate::blob::header;
use crate::blob::params::invalid_because;
use crate::blob::response_format::ResponseFormat;

pub(super) fn decode(ask: &Ask<'_>, wanted: &mut ResponseFormat) -> Result<Intent, Failure> {
    let params = ask.params;
    let method = ask.head.method;
    let comp = params.comp();
    let restype = params.get("restype").unwrap_or_default().to_ascii_lowercase();
    match (restype.as_str(), comp.as_str()) {
        ("service", "properties") => match method {
            "GET" => Ok(Intent::Ready(Operation::GetProperties)),
            "PUT" => {
                let update = Box::new(PropertiesUpdate::default());
                Ok(Intent::Document(Operation::SetProperties(update), Document::Properties))
            }
            _ => Err(verb()),
        },
        ("service", "stats") => stats(ask),
        ("service", "userdelegationkey") => match method {
            "POST" => {
                let period = KeyPeriod { start: None, expiry: DateTime::MIN };
                Ok(Intent::Document(Operation::GetUserDelegationKey(period), Document::KeyInfo))
            }
            _ => Err(verb()),
        },
        ("account", "properties") => account(ask, AccountScope::Service),
        ("", "list") if method == "GET" => list::containers(ask, wanted),
        ("", "blobs") if method == "GET" => list::found(ask, None, wanted),
        // The JavaScript SDK mistakes the account in a path-style address for a container.
        ("" | "container", "batch") if method == "POST" => Ok(Intent::Batch(None)),
        // A client that restores a container without a name sends its request here.
        ("container", "undelete") if method == "PUT" => Err(header::missing("x-ms-deleted-container-name")),
        ("", "list" | "blobs" | "batch") => Err(verb()),
        _ => Err(unknown_comp(params)),
    }
}

/// Only the secondary endpoint can report the replication delay.
fn stats(ask: &Ask<'_>) -> Result<Intent, Failure> {
    if ask.head.method != "GET" {
        return Err(verb());
    }
    if !ask.address.secondary {
        return Err(invalid_because(
            "comp",
            "stats",
            "This operation is only available on the secondary endpoint.",
        ));
    }
    Ok(Intent::Ready(Operation::GetStats))
}

/// Account information, which can be requested on every resource of the account.
pub(super) fn account(ask: &Ask<'_>, scope: AccountScope) -> Result<Intent, Failure> {
    if ask.params.comp() != "properties" {
        return Err(unknown_comp(ask.params));
    }
    match ask.head.method {
        "GET" | "HEAD" => Ok(Intent::Ready(Operation::GetAccountInformation(scope))),
        _ => Err(verb()),
    }
}
