//! The `$filter` language: parse, print, evaluate, plan into key ranges.
//!
//! The structure of a filter is [`lazuli_model::table::filter::Expr`]; this crate operates on it.
//!
//! | question | function |
//! |---|---|
//! | what does this string mean? | [`parse()`], [`parse_optional()`] |
//! | how is this filter written? | [`print()`] |
//! | which rows can match? | [`plan()`]: key ranges, and a residual to evaluate |
//! | does this row match? | [`Matcher`] on stored bytes, [`eval()`] on anything that implements [`Fields`] |
//!
//! Conditions have three values: comparing a property that is missing or has another type is neither true nor false,
//! and so is the negation of that comparison. A filter matches an entity only if it is true.

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
pub use eval::{EntityRow, Fields, TableRow, eval, matches};
pub use matcher::Matcher;
pub use parse::{PARENTHESES_MAX, parse, parse_optional};
pub use plan::{Class, Plan, RANGES_MAX, plan};
pub use print::print;
pub use range::{PlanBound, PlanPosition, PlanRange};
pub use schema::Schema;
