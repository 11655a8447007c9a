//! The suite that every engine runs, at the default isolation level and at the strictest one.

use std::sync::Arc;

use lazuli_engine::conformance::EngineFactory;
use lazuli_engine::{Clock, Engine};

use crate::support::{open, schema, server, url_of};

/// Engines whose sessions run with a setting.
struct Database(&'static str);

impl EngineFactory for Database {
    async fn open(&self, clock: Clock) -> Arc<dyn Engine> {
        open(url_of(&server(), &schema().await).with_option(self.0), clock).await
    }
}

mod usual {
    use super::Database;

    lazuli_engine::conformance_tests!(Database("default_transaction_isolation=read\\ committed"));
}

/// Here the server rejects transactions that it cannot serialize, with 40001, and the engine retries.
mod serializable {
    use super::Database;

    lazuli_engine::conformance_tests!(Database("default_transaction_isolation=serializable"));
}
