//! Random operations, one after the other, on the server and on the model: every response and the final state
//! must agree.

mod check;
mod coverage;
mod generate;

use std::cell::{Cell, RefCell};

pub use coverage::{Coverage, situations};
pub use generate::steps;
use lazuli_model::Service;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use tokio::runtime::Runtime;

use crate::subject::{End, Subject};
use crate::table::model::{Model, ModelFilter, ModelKey, ModelWrite};
use crate::table::wire::TableCaller;

/// A step. Tables are numbered; every run has its own names, so that one server can be used for many runs.
#[derive(Clone, Debug)]
pub enum Step {
    /// Creates a table. `loud` spells its name in capitals, which stands for the same table.
    CreateTable {
        /// Which table.
        table: u8,
        /// In capitals?
        loud: bool,
    },
    /// Deletes a table.
    DeleteTable(u8),
    /// Lists the tables of this run.
    ListTables,
    /// Changes an entity.
    Write {
        /// Which table.
        table: u8,
        /// Which entity.
        key: ModelKey,
        /// The change.
        write: ModelWrite,
    },
    /// Changes several entities of a partition in one transaction.
    Batch {
        /// Which table.
        table: u8,
        /// The changes.
        writes: Vec<(ModelKey, ModelWrite)>,
    },
    /// Reads an entity.
    Get {
        /// Which table.
        table: u8,
        /// Which entity.
        key: ModelKey,
    },
    /// Reads all entities that match a filter, page by page.
    Query {
        /// Which table.
        table: u8,
        /// The filter.
        wanted: Option<ModelFilter>,
        /// Entities in a page.
        top: Option<u8>,
    },
    /// Restarts the server.
    Restart(End),
}

/// Runs the steps on the server and on a fresh model. `run` makes the table names unique on the server.
///
/// Returns the situations that occurred; an error says which response differed, and how.
pub async fn agree(subject: &mut impl Subject, run: u64, steps: &[Step]) -> Result<Coverage, String> {
    let mut trial =
        check::Trial::new(run, TableCaller::new(&subject.authority(Service::Table)), Model::default());
    for (at, step) in steps.iter().enumerate() {
        let outcome = match step {
            Step::Restart(end) => {
                subject.restart(*end).await?;
                trial.caller.moved(&subject.authority(Service::Table));
                trial.coverage.note(if *end == End::Kill { "restart: kill" } else { "restart: stop" });
                Ok(())
            }
            _ => trial.step(step).await,
        };
        outcome.map_err(|difference| format!("step {at}, {step:?}: {difference}"))?;
    }
    trial.final_state().await.map_err(|difference| format!("at the end: {difference}"))?;
    Ok(trial.coverage)
}

/// Tries `count` random lists of at most `length` steps. A failing list is minimised and reported with its
/// seed. Returns the situations that occurred in all lists.
///
/// Every case has its own tables, so that one server can be used for all of them.
pub fn search(
    runtime: &Runtime,
    subject: &mut impl Subject,
    count: u32,
    length: usize,
    seed: u64,
) -> Result<Coverage, String> {
    let config = Config { cases: count, failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let (subject, runs, coverage) = (RefCell::new(subject), Cell::new(0), RefCell::new(Coverage::default()));
    let outcome = runner.run(&steps(length, true), |steps| {
        runs.set(runs.get() + 1);
        let agreed = runtime.block_on(agree(&mut **subject.borrow_mut(), runs.get(), &steps));
        agreed.map(|met| coverage.borrow_mut().add(met)).map_err(TestCaseError::fail)
    });
    outcome.map_err(|error| format!("seed {seed}: {error}"))?;
    Ok(coverage.into_inner())
}
