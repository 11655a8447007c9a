//! Finds pairs of conditions that no value can satisfy together, so that a filter with such a pair reads
//! nothing.
//!
//! It reports only certain contradictions; most impossible filters simply match no row.

use lazuli_model::EdmType;
use lazuli_model::table::filter::{Comparison, Expr, Operator};

use crate::compare::compare;

/// Do two of these conditions, which must all be true, exclude each other?
pub(crate) fn has_contradiction(parts: &[Expr]) -> bool {
    let comparisons = || {
        parts.iter().filter_map(|part| match part {
            Expr::Compare(comparison) => Some(comparison),
            _ => None,
        })
    };
    comparisons().enumerate().any(|(index, a)| {
        comparisons().skip(index + 1).any(|b| a.property == b.property && exclude_each_other(a, b))
    })
}

fn exclude_each_other(a: &Comparison, b: &Comparison) -> bool {
    let (kind, other) = (a.literal.kind(), b.literal.kind());
    if kind != other {
        // A property has one type at a time; only an Int32 constant is compared with more than one.
        return !matches!(
            (kind, other),
            (EdmType::Int32, EdmType::Int64 | EdmType::Double)
                | (EdmType::Int64 | EdmType::Double, EdmType::Int32)
        );
    }
    match (side(a.operator), side(b.operator)) {
        (Side::Exact, _) => compare(a.literal.as_ref(), b.operator, &b.literal) == Some(false),
        (_, Side::Exact) => compare(b.literal.as_ref(), a.operator, &a.literal) == Some(false),
        (Side::Lower, Side::Upper) => is_gap(a, b),
        (Side::Upper, Side::Lower) => is_gap(b, a),
        _ => false,
    }
}

/// Is there no value above the lower limit and below the upper one?
fn is_gap(lower: &Comparison, upper: &Comparison) -> bool {
    let may_meet = lower.operator == Operator::Ge && upper.operator == Operator::Le;
    let order = if may_meet { Operator::Le } else { Operator::Lt };
    compare(lower.literal.as_ref(), order, &upper.literal) == Some(false)
}

enum Side {
    Exact,
    Lower,
    Upper,
    Neither,
}

fn side(operator: Operator) -> Side {
    match operator {
        Operator::Eq => Side::Exact,
        Operator::Gt | Operator::Ge => Side::Lower,
        Operator::Lt | Operator::Le => Side::Upper,
        Operator::Ne => Side::Neither,
    }
}
