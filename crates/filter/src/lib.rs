//! The `$filter` language: read it, print it, evaluate it, plan it into key ranges.
//!
//! The shape of a filter is [`lazuli_model::filter::Expr`]; this crate is what can be done with one.
//!
//! | question | answered by |
//! |---|---|
//! | what does this text say? | [`parse()`], [`parse_optional()`] |
//! | how is this filter written? | [`print()`] |
//! | which rows can it want? | [`plan()`]: key ranges, and what is left to evaluate |
//! | does it want this row? | [`Matcher`] on stored bytes, [`eval()`] on anything that has [`Fields`] |
//!
//! Conditions have three values: comparing a property that is missing or of another type is neither true nor false,
//! and the negation of that is the same. A filter wants an entity only where it is true.

mod compare;
mod contradiction;
mod error;
mod eval;
mod layout;
mod lex;
mod matcher;
mod normal;
mod parse;
mod plan;
mod print;
mod range;
mod region;
mod schema;

pub use error::ParseError;
pub use eval::{Fields, Row, TableRow, eval, matches};
pub use matcher::Matcher;
pub use parse::{PARENTHESES_MAX, parse, parse_optional};
pub use plan::{Class, Plan, RANGES_MAX, plan};
pub use print::print;
pub use range::{Bound, KeyRange, Place};
pub use schema::Schema;
