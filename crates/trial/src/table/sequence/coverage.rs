//! Counts the situations in a run of sequences: a comparison that never happens finds nothing.
//!
//! A situation is an operation with its precondition, alone or in a transaction, and the state before it: a
//! row, no row, no table.

use std::collections::BTreeMap;

use crate::table::model::{ModelWrite, Precondition};

/// Number of times that each situation occurred.
#[derive(Clone, Debug, Default)]
pub struct Coverage(BTreeMap<String, usize>);

/// The possible situations before a change.
const MET: [&str; 3] = ["a row", "no row", "no table"];

const PRECONDITIONS: [(Precondition, &str); 4] = [
    (Precondition::Exists, "*"),
    (Precondition::Current, "current"),
    (Precondition::Stale, "stale"),
    (Precondition::Former, "former"),
];

/// Situations other than those of single changes.
const OTHERS: [&str; 24] = [
    "create a table: created",
    "create a table: rejected",
    "delete a table: deleted",
    "delete a table: rejected",
    "list tables: none",
    "list tables: some",
    "get: a row",
    "get: no row",
    "get: no table",
    "query: no table",
    "query: all rows",
    "query: some rows",
    "query: no rows",
    "query: several pages",
    "transaction: applied",
    "transaction: rejected at its first change",
    "transaction: rejected at a later change",
    "transaction: a row twice",
    "transaction: no table",
    "restart: stop",
    "restart: kill",
    "delete without If-Match: a row",
    "delete without If-Match: no row",
    "delete without If-Match: no table",
];

impl Coverage {
    /// Adds a situation.
    pub fn note(&mut self, situation: impl Into<String>) {
        *self.0.entry(situation.into()).or_default() += 1;
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: Coverage) {
        for (situation, count) in other.0 {
            *self.0.entry(situation).or_default() += count;
        }
    }

    /// Situations that occurred.
    pub fn met(&self) -> usize {
        self.0.len()
    }

    /// Expected situations that did not occur.
    pub fn missing(&self) -> Vec<String> {
        situations().into_iter().filter(|situation| !self.0.contains_key(situation)).collect()
    }
}

/// All possible situations.
pub fn situations() -> Vec<String> {
    let mut changes =
        vec!["insert".to_owned(), "insert with echo".into(), "upsert".into(), "upsert merge".into()];
    for change in ["replace", "merge", "delete"] {
        changes.extend(PRECONDITIONS.iter().map(|(_, name)| format!("{change} {name}")));
    }
    let mut all: Vec<String> = OTHERS.iter().map(|&name| name.to_owned()).collect();
    for (change, met) in changes.iter().flat_map(|change| MET.map(|met| (change, met))) {
        // Without a row, any other ETag is equivalent to a previous one.
        if met != "a row" && change.ends_with("former") {
            continue;
        }
        all.push(format!("{change}: {met}"));
        // The table of a transaction is looked up only once.
        if met != "no table" {
            all.push(format!("transaction, {change}: {met}"));
        }
    }
    all
}

/// The name of a change.
pub(super) fn name(write: &ModelWrite) -> String {
    let with = |change: &str, precondition: &Precondition| {
        let found = PRECONDITIONS.iter().find(|(known, _)| known == precondition);
        format!("{change} {}", found.map_or("", |(_, name)| name))
    };
    match write {
        ModelWrite::Insert { echo: true, .. } => "insert with echo".into(),
        ModelWrite::Insert { echo: false, .. } => "insert".into(),
        ModelWrite::Replace(_, precondition) => with("replace", precondition),
        ModelWrite::Merge(_, precondition) => with("merge", precondition),
        ModelWrite::Upsert(_) => "upsert".into(),
        ModelWrite::UpsertMerge(_) => "upsert merge".into(),
        ModelWrite::Delete(precondition) => with("delete", precondition),
        ModelWrite::BareDelete => "delete without If-Match".into(),
    }
}
