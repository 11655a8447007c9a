//! The contents of a store in familiar numbers: entities, messages, blobs.
//!
//! Check, backup, restore and copy count with the same code, so their numbers agree.

use lazuli_engine::{Marks, RowView, TableId, Version};
use lazuli_service::inspect::{Findings, Inspector};

use crate::progress::{plural, thousands};

/// Counts the contents of rows, which arrive in the order of a dump.
pub struct Counter(Inspector);

impl Counter {
    /// Has counted nothing.
    pub fn new() -> Self {
        // No limits: only `check` knows the last version and table, and compares rows with them.
        Self(Inspector::new(Marks { last_version: Version(u64::MAX), last_table: TableId(u64::MAX) }))
    }

    /// Counts a row.
    pub fn see(&mut self, table: TableId, row: RowView<'_>) {
        self.0.see(table, row);
    }

    /// The numbers, in words.
    pub fn finish(self) -> String {
        describe(&self.0.finish())
    }
}

/// The numbers, in words. Tables are always included, everything else only if there are any.
pub fn describe(found: &Findings) -> String {
    let part = |count: u64, one: &str, several: &str| {
        format!("{} {}", thousands(count), plural(count, one, several))
    };
    let within = |inner: String, outer: String| format!("{inner} in {outer}");
    let mut parts =
        vec![within(part(found.entities, "entity", "entities"), part(found.tables, "table", "tables"))];
    if found.queues > 0 {
        parts
            .push(within(part(found.messages, "message", "messages"), part(found.queues, "queue", "queues")));
    }
    if found.containers > 0 {
        let containers = part(found.containers, "container", "containers");
        parts.push(within(part(found.blobs, "blob", "blobs"), containers));
    }
    if found.accounts > 0 {
        parts.push(part(found.accounts, "account", "accounts"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_right_words() {
        let one = Findings {
            entities: 1,
            tables: 1,
            messages: 1,
            queues: 1,
            blobs: 1,
            containers: 1,
            accounts: 1,
            ..Findings::default()
        };
        assert_eq!(
            describe(&one),
            "1 entity in 1 table, 1 message in 1 queue, 1 blob in 1 container, 1 account"
        );
        let several = Findings { entities: 40_000, tables: 2, queues: 2, ..Findings::default() };
        assert_eq!(describe(&several), "40 000 entities in 2 tables, 0 messages in 2 queues");
        assert_eq!(describe(&Findings::default()), "0 entities in 0 tables");
    }
}
