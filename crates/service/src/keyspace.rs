//! The locations of the service's own records in the engine: all partition and row names of the system table.
//!
//! [`crate::inspect`] knows every kind of record. A new kind must be added there, too.
//!
//! | partition | row | record |
//! |---|---|---|
//! | `accounts` | account name | [`crate::record::AccountRecord`] |
//! | `properties` | `<home>/<service label>` | [`crate::record::encode_properties`] |
//! | `tables/<home>` | `n/<lower-case name>` | [`crate::record::ContainerRecord`], a live table |
//! | `tables/<home>` | `d/<id>` | [`crate::record::DroppedRecord`], rows to be erased |
//! | `tables/<home>` | `b/<lower-case name>` | [`crate::record::DroppedRecord`], a name that is blocked for a while |
//! | `containers/<home>` | `k/<lower-case name>/<id>` | [`crate::record::KeptRecord`], a deleted container that can be restored |
//! | `tables/<home>` | `closed` | empty: the account is being removed, nothing can be created in it |
//! | `queues/<home>`, `containers/<home>` | as for tables | the same for queues and blob containers |
//!
//! The home of an account is its name, or its name, a full stop and a number that is unique to its creation.

use lazuli_engine::{Bound, KeyPosition, KeyRange, TableId};
use lazuli_model::Service;

/// The partition of the accounts.
pub const ACCOUNTS: &str = "accounts";

/// The partition of the properties of the accounts' services.
pub const PROPERTIES: &str = "properties";

/// While this row exists, nothing can be created in a partition of containers.
pub const CLOSED: &str = "closed";

/// The character after `/`: it bounds a range of names that start with a prefix.
const AFTER_SLASH: &str = "0";

/// The first part of the partitions of a service's containers.
pub const fn prefix(service: Service) -> &'static str {
    match service {
        Service::Blob => "containers/",
        Service::Queue => "queues/",
        Service::Table => "tables/",
    }
}

/// The service whose containers are in this partition.
pub fn service_of(partition: &str) -> Option<Service> {
    Service::ALL.into_iter().find(|&service| partition.starts_with(prefix(service)))
}

/// The name of the account whose home this is.
pub fn account_of(home: &str) -> &str {
    home.split_once('.').map_or(home, |(account, _)| account)
}

/// The home of an account.
pub fn home(account: &str, number: Option<u64>) -> String {
    number.map_or_else(|| account.to_owned(), |number| format!("{account}.{number}"))
}

/// The home whose containers are in this partition.
pub fn home_of(partition: &str) -> &str {
    partition.split_once('/').map_or(partition, |(_, home)| home)
}

/// The row of the properties of an account's service.
pub fn properties(home: &str, service: Service) -> String {
    format!("{home}/{}", service.label())
}

/// The partition of an account's containers.
pub fn containers(service: Service, home: &str) -> String {
    format!("{}{home}", prefix(service))
}

/// The row of a live container.
pub fn live(folded: &str) -> String {
    format!("n/{folded}")
}

/// The name in the row of a live container.
pub fn name_of(row: &str) -> Option<&str> {
    row.strip_prefix("n/")
}

/// Is this a container that the service creates for itself, such as the tables of its metrics?
pub fn is_own(service: Service, folded: &str) -> bool {
    match service {
        Service::Blob => folded == "$logs",
        Service::Queue => false,
        Service::Table => folded.starts_with('$'),
    }
}

/// The row of a container whose rows are to be erased.
pub fn dropped(id: TableId) -> String {
    format!("d/{:020}", id.0)
}

/// Is this the row of a container whose rows are to be erased?
pub fn is_dropped(row: &str) -> bool {
    row.starts_with("d/")
}

/// The row after all deleted containers that can be restored.
pub const AFTER_KEPT: &str = "k0";

/// The row of a deleted container that can be restored. No name contains a slash.
pub fn kept(folded: &str, id: TableId) -> String {
    format!("k/{folded}/{:016x}", id.0)
}

/// The smallest row of a deleted container with this name or a later one.
pub fn kept_from(folded: &str) -> String {
    format!("k/{folded}")
}

/// Is this the row of a deleted container that can be restored?
pub fn is_kept(row: &str) -> bool {
    row.starts_with("k/")
}

/// The row of a blocked name.
pub fn blocked(folded: &str) -> String {
    format!("b/{folded}")
}

/// The live containers of an account, from one name up to another; `None` if there cannot be any.
pub fn live_between(service: Service, home: &str, from: &str, before: Option<&str>) -> Option<KeyRange> {
    let partition = containers(service, home);
    let end = match before {
        Some(before) if before <= from => return None,
        Some(before) => live(before),
        None => format!("n{AFTER_SLASH}"),
    };
    Some(KeyRange {
        start: Bound::Included(KeyPosition { partition: partition.clone(), row: live(from) }),
        end: Bound::Excluded(KeyPosition { partition, row: end }),
    })
}

/// The partitions of a service's containers of all accounts.
pub fn all_containers(service: Service) -> KeyRange {
    let place = |partition: String| KeyPosition { partition, row: String::new() };
    let prefix = prefix(service);
    let end = format!("{}{AFTER_SLASH}", prefix.trim_end_matches('/'));
    KeyRange { start: Bound::Included(place(prefix.to_owned())), end: Bound::Excluded(place(end)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions() {
        for (service, partition) in [
            (Service::Table, "tables/dev"),
            (Service::Queue, "queues/dev"),
            (Service::Blob, "containers/dev"),
        ] {
            assert_eq!(containers(service, "dev"), partition);
            assert_eq!(service_of(partition), Some(service));
        }
        for (account, number, at) in [("dev", None, "dev"), ("dev", Some(17), "dev.17")] {
            assert_eq!(home(account, number), at);
            assert_eq!(account_of(at), account);
            assert_eq!(home_of(&containers(Service::Queue, at)), at);
        }
        for other in [ACCOUNTS, PROPERTIES, "tables", ""] {
            assert_eq!(service_of(other), None, "{other}");
        }
    }
}
