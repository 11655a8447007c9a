//! Evaluates a filter on anything with named fields, directly following the rules.
//!
//! To evaluate one filter on many rows, use [`crate::Matcher`], which must have the same results.

use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::table::filter::Expr;
use lazuli_model::table::row::{CorruptRow, RowRef};
use lazuli_model::{DateTime, ValueRef};

use crate::compare::compare;
use crate::schema::TABLE_NAME;

/// Something that a filter can be evaluated on.
pub trait Fields {
    /// The value of a property; `None` if it is missing.
    fn field(&self, name: &str) -> Result<Option<ValueRef<'_>>, CorruptRow>;
}

/// A stored entity.
#[derive(Clone, Copy, Debug)]
pub struct EntityRow<'a> {
    /// PartitionKey.
    pub partition: &'a str,
    /// RowKey.
    pub row: &'a str,
    /// Timestamp.
    pub timestamp: DateTime,
    /// The other properties.
    pub properties: RowRef<'a>,
}

impl Fields for EntityRow<'_> {
    fn field(&self, name: &str) -> Result<Option<ValueRef<'_>>, CorruptRow> {
        match name {
            PARTITION_KEY => Ok(Some(ValueRef::String(self.partition))),
            ROW_KEY => Ok(Some(ValueRef::String(self.row))),
            TIMESTAMP => Ok(Some(ValueRef::DateTime(self.timestamp))),
            _ => self.properties.find(name),
        }
    }
}

/// A table in the list of tables, with its name as created.
#[derive(Clone, Copy, Debug)]
pub struct TableRow<'a>(pub &'a str);

impl Fields for TableRow<'_> {
    fn field(&self, name: &str) -> Result<Option<ValueRef<'_>>, CorruptRow> {
        Ok((name == TABLE_NAME).then_some(ValueRef::String(self.0)))
    }
}

/// Does the filter match?
pub fn matches(expr: &Expr, fields: &impl Fields) -> Result<bool, CorruptRow> {
    Ok(eval(expr, fields)? == Some(true))
}

/// Value of a condition; `None` is neither true nor false.
pub fn eval(expr: &Expr, fields: &impl Fields) -> Result<Option<bool>, CorruptRow> {
    match expr {
        Expr::And(parts) => chain(parts, fields, false),
        Expr::Or(parts) => chain(parts, fields, true),
        Expr::Not(inner) => Ok(eval(inner, fields)?.map(|value| !value)),
        Expr::Compare(comparison) => Ok(fields
            .field(&comparison.property)?
            .and_then(|value| compare(value, comparison.operator, &comparison.literal))),
        Expr::Flag(name) => match fields.field(name)? {
            Some(ValueRef::Boolean(value)) => Ok(Some(value)),
            _ => Ok(None),
        },
        Expr::Constant(value) => Ok(Some(*value)),
    }
}

/// If one part equals `decisive`, so does the result; otherwise an unknown part makes it unknown.
fn chain(parts: &[Expr], fields: &impl Fields, decisive: bool) -> Result<Option<bool>, CorruptRow> {
    let mut whole = Some(!decisive);
    for part in parts {
        match eval(part, fields)? {
            Some(value) if value == decisive => return Ok(Some(decisive)),
            Some(_) => {}
            None => whole = None,
        }
    }
    Ok(whole)
}
