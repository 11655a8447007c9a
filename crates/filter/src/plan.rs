//! Turns a filter into the key ranges that can hold a match, and what is left to evaluate on the rows in them.
//!
//! May return too much, never too little: a skipped row is one that the filter does not want. And the rows of the
//! ranges for which the residual is true are exactly those for which the filter is.

use std::fmt;

pub use lazuli_model::Class;
use lazuli_model::Value;
use lazuli_model::entity::PARTITION_KEY;
use lazuli_model::filter::{Comparison, Expr, Operator};

use crate::contradiction::has_contradiction;
use crate::normal::{all, any, is_key, normal};
use crate::print::print;
use crate::range::{Cut, Edge, KeyRange};
use crate::region::{Joined, Region, Share, Span};

/// Most ranges of a plan. A filter that needs more gets fewer, longer ones.
pub const RANGES_MAX: usize = 512;

/// Where to look for what a filter wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What has to be read: ascending, not overlapping.
    pub ranges: Vec<KeyRange>,
    /// What has to hold of a row in the ranges; `None` if the filter wants them all.
    pub residual: Option<Expr>,
    /// What kind of reading it is.
    pub class: Class,
}

/// Plans a filter.
pub fn plan(filter: &Expr) -> Plan {
    let filter = normal(filter);
    let node = Node::new(&filter);
    let mut edges = node.region.edges();
    limit(&mut edges);
    let read = Region::between(&edges);
    let residual = match node.residual(&read) {
        Expr::Constant(false) => return Plan::NOTHING,
        Expr::Constant(true) => None,
        residual => Some(residual),
    };
    let ranges = edges.iter().map(|&(start, end)| KeyRange::between(start, end)).collect();
    Plan { ranges, residual, class: classify(&edges) }
}

impl Plan {
    const NOTHING: Plan = Plan { ranges: Vec::new(), residual: None, class: Class::Nothing };

    /// Reads the whole table and wants every row.
    pub fn everything() -> Self {
        Plan { ranges: vec![KeyRange::ALL], residual: None, class: Class::Table }
    }

    /// Leaves out what lies outside of a window: where an earlier page ended, or what the caller may see. The class stays
    /// that of the filter, so that every page of a query has the same.
    pub fn narrow(&mut self, window: &KeyRange) {
        self.ranges = self.ranges.iter().filter_map(|range| range.intersect(window)).collect();
    }
}

/// `row-range ['a','1' .. 'a'] keep Age gt 30`
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class.name())?;
        for range in &self.ranges {
            write!(f, " {range}")?;
        }
        match &self.residual {
            Some(residual) => write!(f, " keep {}", print(residual)),
            None => Ok(()),
        }
    }
}

/// A part of the filter, with what it says about keys.
struct Node<'e> {
    expr: &'e Expr,
    /// No row outside of it meets the condition.
    region: Region<'e>,
    /// Every row in it does.
    exact: bool,
    parts: Vec<Node<'e>>,
}

impl<'e> Node<'e> {
    fn new(expr: &'e Expr) -> Self {
        match expr {
            Expr::And(parts) if has_contradiction(parts) => Self::leaf(expr, Region::EMPTY, true),
            Expr::And(parts) => Self::chain(expr, parts, Region::intersect),
            Expr::Or(parts) => Self::chain(expr, parts, Region::union),
            Expr::Compare(comparison) if is_key(&comparison.property) => {
                Self::leaf(expr, keys_of(comparison), true)
            }
            Expr::Constant(value) => {
                Self::leaf(expr, if *value { Region::all() } else { Region::EMPTY }, true)
            }
            Expr::Compare(_) | Expr::Flag(_) | Expr::Not(_) => Self::leaf(expr, Region::all(), false),
        }
    }

    fn leaf(expr: &'e Expr, region: Region<'e>, exact: bool) -> Self {
        Self { expr, region, exact, parts: Vec::new() }
    }

    /// Joins in pairs, then pairs of pairs: sets stay small for most of the way, however long the chain.
    fn chain(expr: &'e Expr, parts: &'e [Expr], join: fn(&Region<'e>, &Region<'e>) -> Joined<'e>) -> Self {
        let parts: Vec<Node<'e>> = parts.iter().map(Node::new).collect();
        let mut exact = parts.iter().all(|part| part.exact);
        let mut regions: Vec<Region<'e>> = parts.iter().map(|part| part.region.clone()).collect();
        while regions.len() > 1 {
            let mut joined = Vec::with_capacity(regions.len().div_ceil(2));
            for pair in regions.chunks(2) {
                joined.push(match pair {
                    [left, right] => {
                        let both = join(left, right);
                        exact &= both.exact;
                        both.region
                    }
                    rest => rest[0].clone(),
                });
            }
            regions = joined;
        }
        Self { expr, region: regions.pop().unwrap_or_default(), exact, parts }
    }

    /// What remains of the condition for rows of which it is known that their keys lie in `read`.
    fn residual(&self, read: &Region<'e>) -> Expr {
        match (read.share_in(&self.region), self.expr) {
            (Share::None, _) => Expr::Constant(false),
            (Share::All, _) if self.exact => Expr::Constant(true),
            (_, Expr::And(_)) => self.residual_of_all(read),
            (_, Expr::Or(_)) => any(self.parts.iter().map(|part| part.residual(read))),
            (_, leaf) => leaf.clone(),
        }
    }

    /// A part is evaluated only where the parts before it hold, so their keys are known as well.
    fn residual_of_all(&self, read: &Region<'e>) -> Expr {
        let mut narrowed: Option<Region<'e>> = None;
        let mut kept = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let read = narrowed.as_ref().unwrap_or(read);
            kept.push(part.residual(read));
            if !part.region.is_all() {
                narrowed = Some(read.intersect(&part.region).region);
            }
        }
        all(kept)
    }
}

/// The keys for which a comparison of one of the two keys holds.
fn keys_of(comparison: &Comparison) -> Region<'_> {
    let Value::String(text) = &comparison.literal else { return Region::EMPTY };
    let below = |end| Span { start: Cut::START, end };
    let above = |start| Span { start, end: Cut::End };
    let (before, after) = (Cut::Before(text), Cut::After(text));
    let spans: &[Span<'_>] = match comparison.operator {
        Operator::Eq => &[Span::only(text)],
        Operator::Ne => &[below(before), above(after)],
        Operator::Gt => &[above(after)],
        Operator::Ge => &[above(before)],
        Operator::Lt => &[below(before)],
        Operator::Le => &[below(after)],
    };
    if comparison.property == PARTITION_KEY { Region::partitions(spans) } else { Region::rows(spans) }
}

/// Joins neighbours until there are few enough.
fn limit(edges: &mut Vec<(Edge<'_>, Edge<'_>)>) {
    let together = edges.len().div_ceil(RANGES_MAX);
    if together > 1 {
        *edges = edges.chunks(together).map(|group| (group[0].0, group[group.len() - 1].1)).collect();
    }
}

fn classify(edges: &[(Edge<'_>, Edge<'_>)]) -> Class {
    let is_point = |&(start, end): &(Edge<'_>, Edge<'_>)| matches!((start, end), (Edge::At(p, Cut::Before(r)), Edge::At(q, Cut::After(s))) if p == q && r == s);
    let is_within = |&(start, end): &(Edge<'_>, Edge<'_>)| matches!((start, end), (Edge::At(p, _), Edge::At(q, _)) if p == q);
    let is_whole = |&(start, end): &(Edge<'_>, Edge<'_>)| matches!((start, end), (Edge::At(p, Cut::START), Edge::At(q, Cut::End)) if p == q);
    match edges {
        [] => Class::Nothing,
        [one] if is_point(one) => Class::Point,
        all if all.iter().all(is_point) => Class::MultiPoint,
        all if !all.iter().all(is_within) => {
            let reaches = all[0].0 == Edge::START && all[all.len() - 1].1 == Edge::End;
            if reaches { Class::Table } else { Class::PartitionRange }
        }
        all if all.iter().any(is_whole) => Class::Partition,
        _ => Class::RowRange,
    }
}
