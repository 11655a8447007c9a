//! The promises to clients, and the responses that would break them.
//!
//! Each register (a pair of rows, a blob, a page) has one writer, so the values that a reader may see are
//! exactly those from the last acknowledged write before the read to the last write that had started when the
//! read ended.

mod accounts;
mod appends;
mod derived;
mod kept;
mod leases;
mod messages;
mod policies;
mod registers;

pub use accounts::{AccountAccess, AccountLedger};
pub use appends::{AppendFloor, AppendLedger};
pub use derived::DerivedLedger;
pub use kept::{KeptLedger, VersionAccess};
pub use leases::LeaseLedger;
pub use messages::{Hold, Messages};
pub use policies::{PolicyAccess, PolicyLedger};
pub use registers::Registers;

/// The result of a check: what is wrong, if anything.
pub type Checked = Result<(), String>;

/// The promises to clients.
#[derive(Default)]
pub struct Ledger {
    /// Accounts, their keys, and the containers that were created in them.
    pub accounts: AccountLedger,
    /// Rows, blobs and pages.
    pub registers: Registers,
    /// Pieces of the append blob.
    pub appends: AppendLedger,
    /// Versions of blobs.
    pub kept: KeptLedger,
    /// Messages.
    pub messages: Messages,
    /// Snapshots and copies of blobs.
    pub derived: DerivedLedger,
    /// The lease of a blob.
    pub leases: LeaseLedger,
    /// The access policy of a table.
    pub policies: PolicyLedger,
}
