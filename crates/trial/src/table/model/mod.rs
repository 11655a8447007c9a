//! A model of the Table service in maps and rules: no engine, no bytes, no concurrency.
//!
//! It shares only protocol constants with the server, so that the two cannot have the same bug. The only thing
//! that it cannot compute is the string of an ETag: it takes it from the server (`learn`), and then expects it.

mod condition;
mod datum;

use std::collections::BTreeMap;

pub use condition::{ModelFilter, ModelOperator};
pub use datum::{Datum, ModelProperties};

/// A key, ordered as the service orders keys: by UTF-16 code units, partition first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelKey(Vec<u16>, Vec<u16>);

impl ModelKey {
    /// The key of this partition and row.
    pub fn new(partition: &str, row: &str) -> Self {
        Self(partition.encode_utf16().collect(), row.encode_utf16().collect())
    }

    /// The PartitionKey.
    pub fn partition(&self) -> String {
        String::from_utf16_lossy(&self.0)
    }

    /// The RowKey.
    pub fn row(&self) -> String {
        String::from_utf16_lossy(&self.1)
    }
}

impl std::fmt::Debug for ModelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}/{:?}", self.partition(), self.row())
    }
}

/// An entity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRow {
    /// Its properties without keys and Timestamp.
    pub properties: ModelProperties,
    /// Its ETag as returned by the server.
    pub etag: Option<String>,
}

/// The precondition of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// `If-Match: *`.
    Exists,
    /// The current ETag of the row.
    Current,
    /// An ETag that no row has.
    Stale,
    /// An ETag that the row had before, as sent by a client with outdated data.
    Former,
}

/// A change of one entity.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelWrite {
    /// POST; `echo` requests the entity in the response.
    Insert {
        /// The properties to store.
        properties: ModelProperties,
        /// Was the entity requested in the response?
        echo: bool,
    },
    /// PUT with If-Match.
    Replace(ModelProperties, Precondition),
    /// MERGE with If-Match.
    Merge(ModelProperties, Precondition),
    /// PUT.
    Upsert(ModelProperties),
    /// MERGE.
    UpsertMerge(ModelProperties),
    /// DELETE with If-Match.
    Delete(Precondition),
    /// DELETE without the required If-Match.
    BareDelete,
}

/// Why something is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The status.
    pub status: u16,
    /// The error code.
    pub code: &'static str,
}

const fn rejection(status: u16, code: &'static str) -> Rejection {
    Rejection { status, code }
}

const TABLE_NOT_FOUND: Rejection = rejection(404, "TableNotFound");
const TABLE_EXISTS: Rejection = rejection(409, "TableAlreadyExists");
const NOT_FOUND: Rejection = rejection(404, "ResourceNotFound");
const EXISTS: Rejection = rejection(409, "EntityAlreadyExists");
const MISMATCH: Rejection = rejection(412, "UpdateConditionNotSatisfied");
const DUPLICATE: Rejection = rejection(400, "InvalidDuplicateRow");
const NO_CONDITION: Rejection = rejection(400, "MissingRequiredHeader");

#[derive(Default)]
struct Table {
    /// The name as spelled at its creation.
    name: String,
    rows: BTreeMap<ModelKey, ModelRow>,
    /// The previous ETags of rows.
    former: BTreeMap<ModelKey, String>,
}

/// All tables of an account.
#[derive(Default)]
pub struct Model {
    tables: BTreeMap<String, Table>,
}

impl Model {
    /// Creates a table.
    pub fn create(&mut self, name: &str) -> Result<(), Rejection> {
        let folded = name.to_lowercase();
        if self.tables.contains_key(&folded) {
            return Err(TABLE_EXISTS);
        }
        self.tables.insert(folded, Table { name: name.to_owned(), ..Table::default() });
        Ok(())
    }

    /// Deletes a table. A missing table is reported as a missing resource.
    pub fn drop_table(&mut self, name: &str) -> Result<(), Rejection> {
        self.tables.remove(&name.to_lowercase()).map(drop).ok_or(NOT_FOUND)
    }

    /// The names of all tables, in order.
    pub fn names(&self) -> Vec<String> {
        self.tables.values().map(|table| table.name.clone()).collect()
    }

    /// An entity.
    pub fn get(&self, table: &str, key: &ModelKey) -> Result<&ModelRow, Rejection> {
        self.table(table)?.rows.get(key).ok_or(NOT_FOUND)
    }

    /// The entities that match a filter, in order.
    pub fn query(
        &self,
        table: &str,
        wanted: Option<&ModelFilter>,
    ) -> Result<Vec<(&ModelKey, &ModelRow)>, Rejection> {
        let rows = self.table(table)?.rows.iter();
        Ok(rows.filter(|(key, row)| wanted.is_none_or(|wanted| wanted.wants(key, row))).collect())
    }

    /// Changes one entity; returns the stored row afterwards, if any.
    pub fn write(
        &mut self,
        table: &str,
        key: &ModelKey,
        write: &ModelWrite,
    ) -> Result<Option<&ModelRow>, Rejection> {
        let Table { rows, former, .. } = self.tables.get_mut(&table.to_lowercase()).ok_or(TABLE_NOT_FOUND)?;
        let before = match changed(rows.get(key), write)? {
            Some(row) => rows.insert(key.clone(), row),
            None => rows.remove(key),
        };
        if let Some(etag) = before.and_then(|row| row.etag) {
            former.insert(key.clone(), etag);
        }
        Ok(rows.get(key))
    }

    /// Changes several entities of a partition, all or none. A failure names the first that failed.
    pub fn batch(
        &mut self,
        table: &str,
        writes: &[(ModelKey, ModelWrite)],
    ) -> Result<(), (Option<usize>, Rejection)> {
        self.table(table).map_err(|rejection| (None, rejection))?;
        let twice = |(at, (key, _)): (usize, &(ModelKey, ModelWrite))| {
            writes[..at].iter().any(|(other, _)| other == key)
        };
        if writes.iter().enumerate().any(twice) {
            return Err((None, DUPLICATE));
        }
        let before: Vec<_> = writes.iter().map(|(key, _)| self.get(table, key).ok().cloned()).collect();
        for (index, (key, write)) in writes.iter().enumerate() {
            if let Err(rejection) = self.write(table, key, write) {
                self.undo(table, &writes[..index], &before);
                return Err((Some(index), rejection));
            }
        }
        Ok(())
    }

    fn undo(&mut self, table: &str, writes: &[(ModelKey, ModelWrite)], before: &[Option<ModelRow>]) {
        let Some(table) = self.tables.get_mut(&table.to_lowercase()) else { return };
        for ((key, _), row) in writes.iter().zip(before) {
            match row {
                Some(row) => table.rows.insert(key.clone(), row.clone()),
                None => table.rows.remove(key),
            };
        }
    }

    /// Records the ETag that the server assigned to a row.
    pub fn learn(&mut self, table: &str, key: &ModelKey, etag: &str) {
        let table = self.tables.get_mut(&table.to_lowercase());
        if let Some(row) = table.and_then(|table| table.rows.get_mut(key)) {
            row.etag = Some(etag.to_owned());
        }
    }

    /// A previous ETag of a row, if there is one.
    pub fn former(&self, table: &str, key: &ModelKey) -> Option<&str> {
        let table = self.table(table).ok()?;
        let former = table.former.get(key).map(String::as_str);
        former.filter(|etag| table.rows.get(key).and_then(|row| row.etag.as_deref()) != Some(etag))
    }

    /// Does the table exist?
    pub fn has(&self, table: &str) -> bool {
        self.table(table).is_ok()
    }

    fn table(&self, name: &str) -> Result<&Table, Rejection> {
        self.tables.get(&name.to_lowercase()).ok_or(TABLE_NOT_FOUND)
    }
}

/// The new state of a row.
fn changed(current: Option<&ModelRow>, write: &ModelWrite) -> Result<Option<ModelRow>, Rejection> {
    let stored = |properties: &ModelProperties| {
        Ok(Some(ModelRow { properties: properties.without_nulls(), etag: None }))
    };
    match (write, current) {
        (ModelWrite::BareDelete, _) => Err(NO_CONDITION),
        (ModelWrite::Insert { .. }, Some(_)) => Err(EXISTS),
        (ModelWrite::Insert { properties, .. } | ModelWrite::Upsert(properties), _) => stored(properties),
        (ModelWrite::UpsertMerge(properties), None) => stored(properties),
        (ModelWrite::UpsertMerge(properties), Some(row)) => stored(&row.properties.overlaid(properties)),
        (ModelWrite::Replace(..) | ModelWrite::Merge(..) | ModelWrite::Delete(_), None) => Err(NOT_FOUND),
        (
            ModelWrite::Replace(_, Precondition::Stale | Precondition::Former)
            | ModelWrite::Merge(_, Precondition::Stale | Precondition::Former)
            | ModelWrite::Delete(Precondition::Stale | Precondition::Former),
            Some(_),
        ) => Err(MISMATCH),
        (ModelWrite::Replace(properties, _), Some(_)) => stored(properties),
        (ModelWrite::Merge(properties, _), Some(row)) => stored(&row.properties.overlaid(properties)),
        (ModelWrite::Delete(_), Some(_)) => Ok(None),
    }
}
