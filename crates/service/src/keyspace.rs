//! Where the service keeps its own records in the engine: every partition and row name of the system table.
//!
//! What is added here is added to [`crate::inspect`], which knows them all.
//!
//! | partition | row | record |
//! |---|---|---|
//! | `accounts` | account name | [`crate::record::AccountRecord`] |
//! | `properties` | `<account>/table` | [`crate::record::encode_properties`] |
//! | `tables/<account>` | `n/<lower-case name>` | [`crate::record::TableRecord`], a live table |
//! | `tables/<account>` | `d/<id>` | [`crate::record::DroppedRecord`], rows to be erased |
//! | `tables/<account>` | `b/<lower-case name>` | [`crate::record::DroppedRecord`], a name that is blocked for a while |

use lazuli_engine::{Bound, KeyRange, Place, TableId};

/// The partition of the accounts.
pub const ACCOUNTS: &str = "accounts";

/// The partition of the properties of the accounts' services.
pub const PROPERTIES: &str = "properties";

const TABLES: &str = "tables/";
/// The character after `/`: what bounds a range of names that start with a prefix.
const AFTER_SLASH: &str = "0";

/// The row of the properties of an account's table service.
pub fn table_properties(account: &str) -> String {
    format!("{account}/table")
}

/// The partition of an account's tables.
pub fn tables(account: &str) -> String {
    format!("{TABLES}{account}")
}

/// The row of a live table.
pub fn live(folded: &str) -> String {
    format!("n/{folded}")
}

/// The name in the row of a live table.
pub fn name_of(row: &str) -> Option<&str> {
    row.strip_prefix("n/")
}

/// The row of a table whose rows are to be erased.
pub fn dropped(id: TableId) -> String {
    format!("d/{:020}", id.0)
}

/// Is this the row of a table whose rows are to be erased?
pub fn is_dropped(row: &str) -> bool {
    row.starts_with("d/")
}

/// The row of a blocked name.
pub fn blocked(folded: &str) -> String {
    format!("b/{folded}")
}

/// The live tables of an account, from a name on and perhaps up to one; `None` if there cannot be any. Names start with
/// letters; the service's own tables, which start with a dollar sign, are not among them.
pub fn live_between(account: &str, from: &str, before: Option<&str>) -> Option<KeyRange> {
    let partition = tables(account);
    let from = from.max("a");
    let end = match before {
        Some(before) if before <= from => return None,
        Some(before) => live(before),
        None => format!("n{AFTER_SLASH}"),
    };
    Some(KeyRange {
        start: Bound::Included(Place { partition: partition.clone(), row: live(from) }),
        end: Bound::Excluded(Place { partition, row: end }),
    })
}

/// The partitions of all accounts' tables.
pub fn all_tables() -> KeyRange {
    let place = |partition: &str| Place { partition: partition.into(), row: String::new() };
    KeyRange {
        start: Bound::Included(place(TABLES)),
        end: Bound::Excluded(place(&format!("tables{AFTER_SLASH}"))),
    }
}
