//! Determines the partition that an operation works on, and the number of its entities that it uses.

use lazuli_model::table::Operation;
use lazuli_model::table::entity::PARTITION_KEY;
use lazuli_model::table::filter::{Expr, Operator};
use lazuli_model::{TableName, Value};

/// The partition that an operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionUse<'a> {
    /// Its table.
    pub table: &'a TableName,
    /// Its key.
    pub partition: &'a str,
    /// Number of entities in the operation; a query counts as one.
    pub entities: usize,
}

/// The only partition that an operation works on, if that can be determined without planning; `None` if there
/// are several, or none.
pub fn partition_of(operation: &Operation) -> Option<PartitionUse<'_>> {
    let (table, partition, entities) = match operation {
        Operation::GetEntity { table, key } => (table, key.partition.as_str(), 1),
        Operation::Write { table, write } => (table, write.key.partition.as_str(), 1),
        Operation::Batch { table, writes } => (table, writes.first()?.key.partition.as_str(), writes.len()),
        Operation::QueryEntities { table, query } => (table, named(query.filter.as_ref()?)?, 1),
        _ => return None,
    };
    Some(PartitionUse { table, partition, entities })
}

/// The partition that a filter requires: `PartitionKey eq '…'`, alone or with other conditions.
fn named(filter: &Expr) -> Option<&str> {
    match filter {
        Expr::And(parts) => parts.iter().find_map(named),
        Expr::Compare(test) if test.property == PARTITION_KEY && test.operator == Operator::Eq => {
            match &test.literal {
                Value::String(partition) => Some(partition),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lazuli_filter::{Schema, parse};
    use lazuli_model::table::operation::EntityQuery;

    use super::*;

    #[track_caller]
    fn check(filter: &str, partition: Option<&str>) {
        let query = EntityQuery { filter: parse(filter, Schema::Entity).ok(), ..EntityQuery::default() };
        let operation = Operation::QueryEntities { table: TableName::new("People").unwrap(), query };
        assert_eq!(partition_of(&operation).map(|used| used.partition), partition, "{filter}");
    }

    #[test]
    fn queries_that_name_their_partition() {
        check("PartitionKey eq 'a'", Some("a"));
        check("Age gt 3 and (PartitionKey eq 'a' and RowKey gt 'b')", Some("a"));
        check("PartitionKey eq 'a' or PartitionKey eq 'b'", None);
        check("PartitionKey ge 'a'", None);
        check("not (PartitionKey eq 'a')", None);
        check("RowKey eq 'a'", None);
    }
}
