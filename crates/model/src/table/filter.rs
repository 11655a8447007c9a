//! The structure of a `$filter`: plain data. The `filter` crate parses, prints, evaluates and plans it.

use crate::Value;

/// A condition on an entity.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// All hold. Never empty.
    And(Vec<Expr>),
    /// At least one holds. Never empty.
    Or(Vec<Expr>),
    /// The condition does not hold.
    Not(Box<Expr>),
    /// A property compared with a constant; if the constant is on the left, the parser swaps the sides.
    Compare(Comparison),
    /// A Boolean property on its own: it holds if the property is `true`.
    Flag(String),
    /// Known without looking at an entity.
    Constant(bool),
}

/// A property compared with a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The property's name, system properties included.
    pub property: String,
    /// How it is compared.
    pub operator: Operator,
    /// The constant that the property is compared with.
    pub literal: Value,
}

/// The six comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
}

impl Operator {
    /// All six.
    pub const ALL: [Operator; 6] =
        [Operator::Eq, Operator::Ne, Operator::Gt, Operator::Ge, Operator::Lt, Operator::Le];

    /// The keyword.
    pub fn keyword(self) -> &'static str {
        match self {
            Operator::Eq => "eq",
            Operator::Ne => "ne",
            Operator::Gt => "gt",
            Operator::Ge => "ge",
            Operator::Lt => "lt",
            Operator::Le => "le",
        }
    }

    /// The name of the operator in OData's messages.
    pub fn kind_name(self) -> &'static str {
        match self {
            Operator::Eq => "Equal",
            Operator::Ne => "NotEqual",
            Operator::Gt => "GreaterThan",
            Operator::Ge => "GreaterThanOrEqual",
            Operator::Lt => "LessThan",
            Operator::Le => "LessThanOrEqual",
        }
    }

    /// The operator with its sides exchanged: `5 lt Age` is `Age gt 5`.
    pub fn flipped(self) -> Self {
        match self {
            Operator::Eq => Operator::Eq,
            Operator::Ne => Operator::Ne,
            Operator::Gt => Operator::Lt,
            Operator::Ge => Operator::Le,
            Operator::Lt => Operator::Gt,
            Operator::Le => Operator::Ge,
        }
    }
}
