//! Prints a filter in its canonical form, which parses back to the same filter.
//!
//! This holds for every filter that [`crate::parse()`] returns: chains are flat and have at least two members.
//! An invalid name (or `not`, `true`, `false`, `null`, `NaN` or `INF`) cannot occur in a filter at all.

use std::fmt::Write;

use lazuli_model::Value;
use lazuli_model::table::filter::Expr;
use lazuli_model::table::value::double_text;

use crate::parse::is_operator;

/// The filter as a string.
pub fn print(expr: &Expr) -> String {
    let mut out = String::new();
    write_expr(&mut out, expr);
    out
}

fn write_expr(out: &mut String, expr: &Expr) {
    match expr {
        Expr::And(parts) => write_chain(out, parts, " and ", "true"),
        Expr::Or(parts) => write_chain(out, parts, " or ", "false"),
        Expr::Not(inner) => {
            out.push_str("not ");
            write_enclosed(out, inner);
        }
        Expr::Compare(comparison) => {
            out.push_str(&comparison.property);
            out.push(' ');
            out.push_str(comparison.operator.keyword());
            out.push(' ');
            write_literal(out, &comparison.literal);
        }
        Expr::Flag(name) => {
            out.push_str(name);
            // On its own, such a name would be an operator without operands.
            if is_operator(name) {
                out.push_str(" eq true");
            }
        }
        Expr::Constant(value) => out.push_str(if *value { "true" } else { "false" }),
    }
}

/// Nested chains get parentheses even if precedence makes them unnecessary, for readability.
fn write_chain(out: &mut String, parts: &[Expr], joint: &str, empty: &str) {
    if parts.is_empty() {
        out.push_str(empty);
    }
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push_str(joint);
        }
        match part {
            Expr::And(_) | Expr::Or(_) => write_enclosed(out, part),
            _ => write_expr(out, part),
        }
    }
}

fn write_enclosed(out: &mut String, expr: &Expr) {
    out.push('(');
    write_expr(out, expr);
    out.push(')');
}

fn write_literal(out: &mut String, value: &Value) {
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Binary(bytes) => {
            out.push_str("X'");
            bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}")).map(|()| out.push('\''))
        }
        Value::Boolean(value) => write!(out, "{value}"),
        Value::DateTime(value) => write!(out, "datetime'{value}'"),
        Value::Double(value) if *value == f64::INFINITY => out.write_str("INF"),
        Value::Double(value) if *value == f64::NEG_INFINITY => out.write_str("-INF"),
        Value::Double(value) => out.write_str(double_text(*value).as_str()),
        Value::Guid(value) => write!(out, "guid'{value}'"),
        Value::Int32(value) => write!(out, "{value}"),
        Value::Int64(value) => write!(out, "{value}L"),
        Value::String(text) => write!(out, "'{}'", text.replace('\'', "''")),
    };
}
