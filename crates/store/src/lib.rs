//! The durable engine for one machine.
//!
//! [`Store`] keeps rows in a sorted store on disk. One thread, the committer, owns all writes: it takes all
//! waiting commits, decides them in order, writes one batch, syncs once, publishes, and sends the results.
//! Readers use the latest published view and never wait for writes.

mod acknowledged;
mod adopt;
mod ahead;
mod cache;
mod cell;
mod check;
mod commit;
mod committer;
pub mod content;
pub mod crash_point;
mod cut;
mod directory;
mod dump;
mod error;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod group;
mod health;
mod inspect;
mod journal;
mod keyspace;
pub mod limits;
mod load;
mod metrics;
mod missing;
mod options;
mod permit;
mod preflight;
mod queue;
mod readers;
mod reading;
mod reads;
#[cfg(test)]
mod reads_tests;
mod recent;
mod resident;
mod scan;
mod settle;
mod space;
mod state;
mod store;
mod view;

pub use check::CheckReport;
pub use directory::FORMAT as FORMAT_FILE;
pub use error::OpenError;
pub use inspect::{Inspection, inspect};
pub use load::{Loaded, Loader};
pub use options::{Durability, Options};
pub use reading::ClosedStore;
pub use store::Store;
