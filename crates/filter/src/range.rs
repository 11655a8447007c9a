//! Ranges of keys in row order: by PartitionKey, then by RowKey, both as UTF-16 code units.
//!
//! The engine has types of the same names and meaning. Neither crate may use the other, so `service` converts them.

use std::cmp::Ordering;
use std::fmt;

use lazuli_model::utf16_cmp;

/// A key in row order. It need not be a valid key of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanPosition {
    /// PartitionKey.
    pub partition: String,
    /// RowKey.
    pub row: String,
}

/// Lower or upper end of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanBound {
    /// No limit.
    Open,
    /// The row with this key belongs to the range.
    Included(PlanPosition),
    /// The row with this key does not belong to it.
    Excluded(PlanPosition),
    /// As a lower bound, everything after this partition; as an upper bound, everything up to its end.
    AfterPartition(String),
}

/// Rows from one bound to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRange {
    /// The lower bound.
    pub start: PlanBound,
    /// The upper bound.
    pub end: PlanBound,
}

impl PlanRange {
    /// Every row of the table.
    pub const ALL: PlanRange = PlanRange { start: PlanBound::Open, end: PlanBound::Open };

    /// Does the range contain a row with this key?
    pub fn contains(&self, partition: &str, row: &str) -> bool {
        let start = Edge::At(partition, Cut::Before(row));
        let end = Edge::At(partition, Cut::After(row));
        self.lower() <= start && end <= self.upper()
    }

    /// Intersection of both ranges, if it is not empty.
    pub fn intersect(&self, other: &PlanRange) -> Option<PlanRange> {
        let start = self.lower().max(other.lower());
        let end = self.upper().min(other.upper());
        (start < end).then(|| Self::between(start, end))
    }

    pub(crate) fn between(start: Edge<'_>, end: Edge<'_>) -> Self {
        let start = match start {
            Edge::START => PlanBound::Open,
            Edge::At(partition, Cut::Before(row)) => PlanBound::Included(place(partition, row)),
            Edge::At(partition, Cut::After(row)) => PlanBound::Excluded(place(partition, row)),
            Edge::At(partition, Cut::End) => PlanBound::AfterPartition(partition.into()),
            // No range starts at the end of the table; if one did, reading too much would be safe.
            Edge::End => PlanBound::Open,
        };
        let end = match end {
            Edge::At(partition, Cut::Before(row)) => PlanBound::Excluded(place(partition, row)),
            Edge::At(partition, Cut::After(row)) => PlanBound::Included(place(partition, row)),
            Edge::At(partition, Cut::End) => PlanBound::AfterPartition(partition.into()),
            Edge::End => PlanBound::Open,
        };
        Self { start, end }
    }

    pub(crate) fn lower(&self) -> Edge<'_> {
        match &self.start {
            PlanBound::Open => Edge::START,
            PlanBound::Included(place) => Edge::At(&place.partition, Cut::Before(&place.row)),
            PlanBound::Excluded(place) => Edge::At(&place.partition, Cut::After(&place.row)),
            PlanBound::AfterPartition(partition) => Edge::At(partition, Cut::End),
        }
    }

    pub(crate) fn upper(&self) -> Edge<'_> {
        match &self.end {
            PlanBound::Open => Edge::End,
            PlanBound::Included(place) => Edge::At(&place.partition, Cut::After(&place.row)),
            PlanBound::Excluded(place) => Edge::At(&place.partition, Cut::Before(&place.row)),
            PlanBound::AfterPartition(partition) => Edge::At(partition, Cut::End),
        }
    }
}

fn place(partition: &str, row: &str) -> PlanPosition {
    PlanPosition { partition: partition.into(), row: row.into() }
}

/// A gap between two neighbouring strings in their order. The first gap is before the empty string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut<'a> {
    Before(&'a str),
    After(&'a str),
    /// After every string.
    End,
}

impl Cut<'_> {
    pub(crate) const START: Cut<'static> = Cut::Before("");
}

impl Ord for Cut<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Cut::End, Cut::End) => Ordering::Equal,
            (Cut::End, _) => Ordering::Greater,
            (_, Cut::End) => Ordering::Less,
            (Cut::Before(a) | Cut::After(a), Cut::Before(b) | Cut::After(b)) => {
                utf16_cmp(a, b).then(matches!(self, Cut::After(_)).cmp(&matches!(other, Cut::After(_))))
            }
        }
    }
}

impl PartialOrd for Cut<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A gap between two neighbouring rows: within a partition, or at the end of the table. The end of a partition is
/// the gap after all of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge<'a> {
    At(&'a str, Cut<'a>),
    End,
}

impl Edge<'_> {
    pub(crate) const START: Edge<'static> = Edge::At("", Cut::START);
}

impl Ord for Edge<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Edge::End, Edge::End) => Ordering::Equal,
            (Edge::End, _) => Ordering::Greater,
            (_, Edge::End) => Ordering::Less,
            (Edge::At(p, row), Edge::At(q, other)) => utf16_cmp(p, q).then_with(|| row.cmp(other)),
        }
    }
}

impl PartialOrd for Edge<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Interval notation: `['a','1']` is one row, `['a']` one partition, `['a','1' .. 'b')` goes from a row up to
/// the start of a partition, and `(..)` is the whole table.
impl fmt::Display for PlanRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.lower(), self.upper()) {
            (Edge::At(p, Cut::Before(r)), Edge::At(q, Cut::After(s))) if p == q && r == s => {
                return write!(f, "['{p}','{r}']");
            }
            (Edge::At(p, Cut::START), Edge::At(q, Cut::End)) if p == q => return write!(f, "['{p}']"),
            _ => {}
        }
        match self.lower() {
            Edge::START | Edge::End => f.write_str("(..")?,
            Edge::At(p, Cut::START) => write!(f, "['{p}' ..")?,
            Edge::At(p, Cut::Before(r)) => write!(f, "['{p}','{r}' ..")?,
            Edge::At(p, Cut::After(r)) => write!(f, "('{p}','{r}' ..")?,
            Edge::At(p, Cut::End) => write!(f, "('{p}' ..")?,
        }
        match self.upper() {
            Edge::End => f.write_str(")"),
            Edge::At(p, Cut::START) => write!(f, " '{p}')"),
            Edge::At(p, Cut::Before(r)) => write!(f, " '{p}','{r}')"),
            Edge::At(p, Cut::After(r)) => write!(f, " '{p}','{r}']"),
            Edge::At(p, Cut::End) => write!(f, " '{p}']"),
        }
    }
}
