//! Turns a filter into the key ranges that can contain a match, and a residual to evaluate on their rows.
//!
//! A plan may read too much, never too little: a skipped row does not match the filter. Within the ranges, the residual
//! is true for exactly the rows that match the filter.

use std::cell::Cell;
use std::fmt;

pub use lazuli_model::Class;
use lazuli_model::Value;
use lazuli_model::table::entity::PARTITION_KEY;
use lazuli_model::table::filter::{Comparison, Expr, Operator};

use crate::contradiction::has_contradiction;
use crate::normal::{all, any, is_key, normal};
use crate::print::print;
use crate::range::{Cut, Edge, PlanRange};
use crate::region::{Joined, Region, Share, Span};

/// Maximum number of ranges in a plan. A filter that needs more gets fewer, longer ones.
pub const RANGES_MAX: usize = 512;

/// Maximum number of key stretches that planning examines. For a filter that needs more, the plan is coarse:
/// conditions on keys are then evaluated on the rows. This limits planning to a few milliseconds for the worst
/// filter.
const STEPS_MAX: usize = 100_000;

/// The key ranges and the residual condition for the rows that match a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Ranges to read: ascending, not overlapping.
    pub ranges: Vec<PlanRange>,
    /// Condition on the rows in the ranges; `None` if all of them match.
    pub residual: Option<Expr>,
    /// Kind of read.
    pub class: Class,
}

/// Plans a filter.
pub fn plan(filter: &Expr) -> Plan {
    let filter = normal(filter);
    let steps = Steps::default();
    let node = Node::new(&filter, &steps);
    let mut edges = node.region.edges();
    limit(&mut edges);
    let read = Region::between(&edges);
    let residual = match node.residual(&read, &steps) {
        Expr::Constant(false) => return Plan::NOTHING,
        Expr::Constant(true) => None,
        residual => Some(residual),
    };
    let ranges = edges.iter().map(|&(start, end)| PlanRange::between(start, end)).collect();
    Plan { ranges, residual, class: classify(&edges) }
}

impl Plan {
    const NOTHING: Plan = Plan { ranges: Vec::new(), residual: None, class: Class::Nothing };

    /// A plan that reads the whole table and matches every row.
    pub fn everything() -> Self {
        Plan { ranges: vec![PlanRange::ALL], residual: None, class: Class::Table }
    }

    /// Restricts the plan to a window: the rest of a paged query, or the keys that the caller may see. The
    /// class does not change, so that every page of a query has the same class.
    pub fn narrow(&mut self, window: &PlanRange) {
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

/// Work that planning has done.
#[derive(Default)]
struct Steps(Cell<usize>);

impl Steps {
    fn count(&self, steps: usize) {
        self.0.set(self.0.get().saturating_add(steps));
    }

    fn are_left(&self) -> bool {
        self.0.get() < STEPS_MAX
    }

    /// Adds the cost of joining two sets; `false` if the limit was already exceeded.
    fn allow(&self, left: &Region<'_>, right: &Region<'_>) -> bool {
        let allowed = self.are_left();
        if allowed {
            self.count(left.stretches() + right.stretches());
        }
        allowed
    }
}

/// A part of the filter, with its keys.
struct Node<'e> {
    expr: &'e Expr,
    /// No row outside of this region matches.
    region: Region<'e>,
    /// Does every row in the region match?
    exact: bool,
    parts: Vec<Node<'e>>,
}

impl<'e> Node<'e> {
    fn new(expr: &'e Expr, steps: &Steps) -> Self {
        match expr {
            Expr::And(parts) if has_contradiction(parts) => Self::leaf(expr, Region::EMPTY, true),
            Expr::And(parts) => Self::chain(expr, parts, Region::intersect, steps),
            Expr::Or(parts) => Self::chain(expr, parts, Region::union, steps),
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

    /// Joins in pairs, then pairs of pairs, so that most joined sets are small, regardless of the length of the
    /// chain.
    fn chain(
        expr: &'e Expr,
        parts: &'e [Expr],
        join: fn(&Region<'e>, &Region<'e>) -> Joined<'e>,
        steps: &Steps,
    ) -> Self {
        let parts: Vec<Node<'e>> = parts.iter().map(|part| Node::new(part, steps)).collect();
        let mut exact = parts.iter().all(|part| part.exact);
        let mut regions: Vec<Region<'e>> = parts.iter().map(|part| part.region.clone()).collect();
        while regions.len() > 1 {
            let mut joined = Vec::with_capacity(regions.len().div_ceil(2));
            for pair in regions.chunks(2) {
                joined.push(match pair {
                    // The set of all keys contains any intersection or union.
                    [left, right] if !steps.allow(left, right) => {
                        exact = false;
                        Region::all()
                    }
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

    /// The rest of the condition for rows whose keys are in `read`.
    fn residual(&self, read: &Region<'e>, steps: &Steps) -> Expr {
        if !steps.are_left() {
            return self.expr.clone();
        }
        let mut looked = 0;
        let share = read.share_in(&self.region, &mut looked);
        steps.count(looked);
        match (share, self.expr) {
            (Share::None, _) => Expr::Constant(false),
            (Share::All, _) if self.exact => Expr::Constant(true),
            (_, Expr::And(_)) => self.residual_of_all(read, steps),
            (_, Expr::Or(_)) => any(self.parts.iter().map(|part| part.residual(read, steps))),
            (_, leaf) => leaf.clone(),
        }
    }

    /// A part is evaluated only if the parts before it are true, so their restrictions on keys apply as well.
    fn residual_of_all(&self, read: &Region<'e>, steps: &Steps) -> Expr {
        let mut narrowed: Option<Region<'e>> = None;
        let mut kept = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let read = narrowed.as_ref().unwrap_or(read);
            kept.push(part.residual(read, steps));
            // Using less knowledge than possible is safe: it only leaves more to evaluate.
            if !part.region.is_all() && steps.allow(read, &part.region) {
                narrowed = Some(read.intersect(&part.region).region);
            }
        }
        all(kept)
    }
}

/// The keys for which a comparison with PartitionKey or RowKey is true.
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

/// Joins neighbouring ranges until there are few enough.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Schema, parse};

    /// A filter of a few kilobytes could occupy a thread for a fifth of a second, and block others.
    #[test]
    fn planning_time_is_bounded() {
        let join = |terms: Vec<String>, word: &str| format!("({})", terms.join(word));
        let any = |name: &str| join((0..64).map(|i| format!("{name} eq '{i:02}'")).collect(), " or ");
        let grid = format!("{} and {}", any("PartitionKey"), any("RowKey"));
        let holes = |name: &str| join((0..384).map(|i| format!("{name} ne '{i:02}5'")).collect(), " and ");
        let pairs = (0..190).map(|i| format!("(RowKey ne '{i:02}' or PartitionKey ne '{i:02}')"));
        let mut nested = grid.clone();
        for i in 0..60 {
            nested =
                format!("(({nested} or (PartitionKey eq 'z{i}' and RowKey eq 'z')) and RowKey ne '{i:02}5')");
        }
        let filters = [
            format!("{grid} and {}", holes("RowKey")),
            format!("{grid} and {}", holes("PartitionKey")),
            format!("{grid} and {}", join(pairs.collect(), " and ")),
            nested,
        ];
        for filter in filters {
            let filter = normal(&parse(&filter, Schema::Entity).unwrap());
            let steps = Steps::default();
            let node = Node::new(&filter, &steps);
            node.residual(&Region::between(&node.region.edges()), &steps);
            // The last join within the limit may take as many steps as the total length of both sets.
            assert!(steps.0.get() < 2 * STEPS_MAX, "{}", steps.0.get());
        }
    }
}
