//! The effect of a commit on the table's rows, as statements.
//!
//! Most commits are planned from their conditions alone and sent in one round trip. Commits that compute values
//! from existing ones, or that contain a row twice, are evaluated on rows that were read and locked first.

use std::collections::BTreeMap;

use bytes::Bytes;
use lazuli_engine::rules;
use lazuli_engine::{Change, Condition, Next, Reason, Version, Write};
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use crate::key::Address;
use crate::sql::Statements;

/// The lowest and the highest version that a row can have.
const ANY_VERSION: (i64, i64) = (i64::MIN, i64::MAX);

/// The change to one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It must not exist, and gets this value.
    Insert(Bytes),
    /// It gets this value, if its version is below that of the commit.
    Upsert(Bytes),
    /// It must exist with this version, and gets this value. `None`: any version below that of the commit.
    Replace(Option<Version>, Bytes),
    /// It must exist with this version, or with any, and is deleted.
    Delete(Option<Version>),
    /// It is deleted if it exists.
    Clear,
}

/// One row of a commit.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its address.
    pub address: Address,
    /// The change.
    pub effect: Effect,
}

impl Step {
    /// Bytes of the value that it puts.
    pub fn value_bytes(&self) -> usize {
        value(&self.effect).map_or(0, <[u8]>::len)
    }

    /// Does it leave a row with the commit's version?
    pub fn writes(&self) -> bool {
        matches!(self.effect, Effect::Insert(_) | Effect::Upsert(_) | Effect::Replace(..))
    }
}

/// The steps of a commit that can be planned without reading its rows; `None` for other commits.
pub fn direct(writes: &[Write], addresses: &[Address]) -> Option<Vec<Step>> {
    let mut steps = Vec::with_capacity(writes.len());
    for (write, address) in writes.iter().zip(addresses) {
        let effect = match (&write.change, write.condition) {
            (Change::Put(value), Condition::Absent) => Effect::Insert(value.clone()),
            (Change::Put(value), Condition::Any) => Effect::Upsert(value.clone()),
            (Change::Put(value), Condition::Exists) => Effect::Replace(None, value.clone()),
            (Change::Put(value), Condition::Version(version)) => {
                Effect::Replace(Some(version), value.clone())
            }
            (Change::Delete, Condition::Any) => Effect::Clear,
            (Change::Delete, Condition::Exists) => Effect::Delete(None),
            (Change::Delete, Condition::Version(version)) => Effect::Delete(Some(version)),
            (Change::Update(_), _) | (_, Condition::Never) | (Change::Delete, Condition::Absent) => {
                return None;
            }
        };
        steps.push(Step { address: address.clone(), effect });
    }
    in_order(steps)
}

/// Sorts steps by their rows, so that all commits lock rows in the same order; `None` if a row occurs twice.
fn in_order(mut steps: Vec<Step>) -> Option<Vec<Step>> {
    steps.sort_by(|a, b| a.address.cmp(&b.address));
    let is_unique = steps.windows(2).all(|pair| pair[0].address != pair[1].address);
    is_unique.then_some(steps)
}

/// The current rows, by address.
pub type Current = BTreeMap<Address, (Version, Bytes)>;

/// The known state of a row.
#[derive(Clone, Debug)]
pub struct Head {
    /// Its version.
    pub version: Version,
    /// Bytes of its value.
    pub bytes: usize,
    /// Its value, if it was read.
    pub value: Option<Bytes>,
}

/// The known state of rows, by address.
pub type Heads = BTreeMap<Address, Head>;

/// The steps of a commit, based on rows that were read, with the results of its updates.
pub type Decided = (Vec<Step>, Vec<Option<Bytes>>);

/// Evaluates writes of the commit `version` on the current rows; an error contains the first write whose
/// condition is not met. Rows that are the input of updates must have their values.
pub fn decided(
    writes: &[Write],
    addresses: &[Address],
    heads: &Heads,
    version: Version,
) -> Result<Decided, (usize, Reason)> {
    let unread = Bytes::new();
    let mut changed: BTreeMap<&Address, Option<Bytes>> = BTreeMap::new();
    let mut computed = Vec::with_capacity(writes.len());
    for (index, (write, address)) in writes.iter().zip(addresses).enumerate() {
        let before = heads.get(address).map(|head| (head.version, head.value.as_ref().unwrap_or(&unread)));
        let now = match changed.get(address) {
            Some(value) => value.as_ref().map(|value| (version, value)),
            None => before,
        };
        let decision = rules::decide(write, now, version).map_err(|reason| (index, reason))?;
        computed.push(decision.computed());
        match decision.next {
            Next::Put(value) => drop(changed.insert(address, Some(value))),
            Next::Delete => drop(changed.insert(address, None)),
            Next::Keep => {}
        }
    }
    let step = |(address, value): (&Address, Option<Bytes>)| {
        let version = heads.get(address).map(|head| head.version);
        let effect = match (version, value) {
            (None, Some(value)) => Effect::Insert(value),
            (Some(version), Some(value)) => Effect::Replace(Some(version), value),
            (Some(version), None) => Effect::Delete(Some(version)),
            (None, None) => return None,
        };
        Some(Step { address: address.clone(), effect })
    };
    Ok((changed.into_iter().filter_map(step).collect(), computed))
}

/// A version as a number of the database.
pub fn number(version: Version) -> i64 {
    i64::try_from(version.0).unwrap_or(i64::MAX)
}

/// A statement with its parameters.
pub struct BoundStatement<'a> {
    /// The statement.
    pub statement: Statement,
    /// Its parameters.
    pub parameters: Vec<Box<dyn ToSql + Sync + Send + 'a>>,
    /// Number of rows that it must change, if the statement does not check this itself.
    pub rows: Option<u64>,
}

impl BoundStatement<'_> {
    /// The parameters, as the driver takes them.
    pub fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync)).collect()
    }
}

/// The only statement of a commit that changes one row.
pub fn single<'a>(statements: &Statements, version: i64, step: &'a Step) -> BoundStatement<'a> {
    let Address { table, partition, row, long } = &step.address;
    let (long_partition, long_row) = long_columns(long);
    let put = |statement: &Statement, value: &'a Bytes| BoundStatement {
        statement: statement.clone(),
        parameters: vec![
            Box::new(table),
            Box::new(partition),
            Box::new(row),
            Box::new(version),
            Box::new(&value[..]),
            Box::new(long_partition),
            Box::new(long_row),
        ],
        rows: Some(1),
    };
    match &step.effect {
        Effect::Insert(value) => put(&statements.insert_one, value),
        Effect::Upsert(value) => put(&statements.upsert_one, value),
        Effect::Replace(wanted, value) => {
            let (low, high) = bounds(*wanted, version);
            let mut call = put(&statements.replace_one, value);
            call.parameters.truncate(5);
            call.parameters.extend([Box::new(low) as Box<_>, Box::new(high) as Box<_>]);
            call
        }
        Effect::Delete(wanted) => {
            let (low, high) = wanted.map_or(ANY_VERSION, |wanted| bounds(Some(wanted), version));
            remove(statements, &step.address, low, high, Some(1))
        }
        Effect::Clear => remove(statements, &step.address, ANY_VERSION.0, ANY_VERSION.1, None),
    }
}

fn remove<'a>(
    statements: &Statements,
    at: &'a Address,
    low: i64,
    high: i64,
    rows: Option<u64>,
) -> BoundStatement<'a> {
    BoundStatement {
        statement: statements.delete_one.clone(),
        parameters: vec![
            Box::new(at.table),
            Box::new(&at.partition),
            Box::new(&at.row),
            Box::new(low),
            Box::new(high),
        ],
        rows,
    }
}

fn long_columns(long: &Option<(Vec<u8>, Vec<u8>)>) -> (Option<&[u8]>, Option<&[u8]>) {
    (long.as_ref().map(|(partition, _)| &partition[..]), long.as_ref().map(|(_, row)| &row[..]))
}

/// The versions that a row may have before it is replaced.
fn bounds(wanted: Option<Version>, version: i64) -> (i64, i64) {
    match wanted {
        // One that no row can have matches none.
        Some(wanted) => i64::try_from(wanted.0).map_or((1, 0), |wanted| (wanted, wanted)),
        None => (i64::MIN, version - 1),
    }
}

/// The statements of a commit, each of which aborts the transaction if it does not change all rows that it must
/// change.
pub fn several<'a>(statements: &Statements, version: i64, steps: &'a [Step]) -> Vec<BoundStatement<'a>> {
    let kinds: [fn(&Effect) -> bool; 5] = [
        |effect| matches!(effect, Effect::Clear),
        |effect| matches!(effect, Effect::Delete(_)),
        |effect| matches!(effect, Effect::Replace(..)),
        |effect| matches!(effect, Effect::Upsert(_)),
        |effect| matches!(effect, Effect::Insert(_)),
    ];
    let mut calls = Vec::new();
    for group in steps.chunk_by(|a, b| a.address.table == b.address.table) {
        for kind in kinds {
            let some: Vec<&Step> = group.iter().filter(|step| kind(&step.effect)).collect();
            if let Some(first) = some.first() {
                calls.push(many(statements, version, first, &some));
            }
        }
    }
    calls
}

/// One statement for several rows of the same kind.
fn many<'a>(
    statements: &Statements,
    version: i64,
    first: &'a Step,
    steps: &[&'a Step],
) -> BoundStatement<'a> {
    let Address { table, partition, long, .. } = &first.address;
    let count = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    let rows: Vec<&[u8]> = steps.iter().map(|step| &step.address.row[..]).collect();
    let values: Vec<&[u8]> = steps.iter().filter_map(|step| value(&step.effect)).collect();
    let long_rows: Vec<Option<&[u8]>> = steps.iter().map(|step| long_columns(&step.address.long).1).collect();
    let limits = |step: &&Step| match &step.effect {
        Effect::Replace(wanted, _) => bounds(*wanted, version),
        Effect::Delete(Some(wanted)) => bounds(Some(*wanted), version),
        _ => ANY_VERSION,
    };
    let (low, high): (Vec<i64>, Vec<i64>) = steps.iter().map(limits).unzip();
    let mut parameters: Vec<Box<dyn ToSql + Sync + Send + 'a>> = vec![Box::new(table), Box::new(partition)];
    let statement = match &first.effect {
        Effect::Insert(_) | Effect::Upsert(_) => {
            parameters.push(Box::new(version));
            parameters.push(Box::new(long_columns(long).0));
            parameters.push(Box::new(rows));
            parameters.push(Box::new(values));
            parameters.push(Box::new(long_rows));
            if matches!(first.effect, Effect::Insert(_)) {
                &statements.insert
            } else {
                parameters.push(Box::new(count));
                &statements.upsert
            }
        }
        Effect::Replace(..) => {
            parameters.push(Box::new(version));
            parameters.push(Box::new(rows));
            parameters.push(Box::new(low));
            parameters.push(Box::new(high));
            parameters.push(Box::new(values));
            parameters.push(Box::new(count));
            &statements.replace
        }
        Effect::Delete(_) | Effect::Clear => {
            parameters.push(Box::new(rows));
            parameters.push(Box::new(low));
            parameters.push(Box::new(high));
            parameters.push(Box::new(if first.effect == Effect::Clear { -1 } else { count }));
            &statements.delete
        }
    };
    BoundStatement { statement: statement.clone(), parameters, rows: None }
}

fn value(effect: &Effect) -> Option<&[u8]> {
    match effect {
        Effect::Insert(value) | Effect::Upsert(value) | Effect::Replace(_, value) => Some(value),
        Effect::Delete(_) | Effect::Clear => None,
    }
}
