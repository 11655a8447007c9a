//! The engine's part in content that is in an object store: the streams of that content, and the number of the
//! store.

use std::sync::Arc;

use lazuli_engine::content::ContentLedger;
use lazuli_engine::{Error, Result};

use crate::engine::Postgres;

impl Postgres {
    /// Takes over all content of processes that have certainly ended.
    pub(crate) async fn take_over_content(&self) -> Result<()> {
        self.ledger.take_over().await
    }

    /// The streams of all front ends, for content that is stored elsewhere.
    pub fn ledger(&self) -> Arc<dyn ContentLedger> {
        self.ledger.clone()
    }

    /// Assigns a number to an object store and records it, unless one is recorded already. Returns the recorded
    /// number; content in the database itself is an error.
    pub async fn mark_objects(&self) -> Result<u64> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| Error::Unavailable(error.to_string()))?;
        // Numbers in a database are signed, and 0 means chunks.
        self.ledger.mark_objects((u64::from_be_bytes(random) >> 1).max(1)).await
    }

    /// The number of the object store with the content, if there is one.
    pub async fn object_store(&self) -> Result<Option<u64>> {
        self.ledger.object_store().await
    }
}
