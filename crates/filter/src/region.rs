//! Sets of keys, as described by conditions on PartitionKey and RowKey: the rows of each stretch of partitions.
//!
//! Every set has exactly one representation: stretches are in order, do not overlap, are as long as possible, and none
//! is empty. So equal sets are equal values.

use crate::range::{Cut, Edge};

/// Number of row stretches above which the description of a set becomes coarse: it then contains the set and
/// more keys. This bounds the work of planning for every filter.
const REGION_STRETCHES_MAX: usize = 4096;

/// The strings between two cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span<'a> {
    pub start: Cut<'a>,
    pub end: Cut<'a>,
}

impl<'a> Span<'a> {
    pub(crate) const ALL: Span<'static> = Span { start: Cut::START, end: Cut::End };

    pub(crate) fn only(text: &'a str) -> Self {
        Self { start: Cut::Before(text), end: Cut::After(text) }
    }

    /// Its only string, if there is just one.
    pub(crate) fn single(&self) -> Option<&'a str> {
        match (self.start, self.end) {
            (Cut::Before(a), Cut::After(b)) if a == b => Some(a),
            _ => None,
        }
    }
}

impl Span<'_> {
    /// Is it contained in these spans, which are in order?
    fn lies_in(&self, spans: &[Span<'_>]) -> bool {
        let next = spans.partition_point(|span| span.end < self.end);
        spans.get(next).is_some_and(|span| span.start <= self.start)
    }

    /// Does it overlap these spans, which are in order?
    fn meets(&self, spans: &[Span<'_>]) -> bool {
        let next = spans.partition_point(|span| span.end <= self.start);
        spans.get(next).is_some_and(|span| span.start < self.end)
    }
}

/// Row keys.
type Rows<'a> = Vec<Span<'a>>;

/// A set with the same rows in every partition of a stretch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece<'a> {
    partitions: Span<'a>,
    rows: Rows<'a>,
}

/// A set of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Region<'a>(Vec<Piece<'a>>);

/// The extent to which one set contains another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    None,
    Some,
    All,
}

/// Two sets joined.
pub(crate) struct Joined<'a> {
    pub region: Region<'a>,
    /// If `false`, the region contains more keys than it should.
    pub exact: bool,
}

impl<'a> Region<'a> {
    pub(crate) const EMPTY: Region<'static> = Region(Vec::new());

    pub(crate) fn all() -> Self {
        Self::partitions(&[Span::ALL])
    }

    /// All rows of these partitions.
    pub(crate) fn partitions(spans: &[Span<'a>]) -> Self {
        let mut region = Self::default();
        for &partitions in spans {
            region.push(partitions, vec![Span::ALL]);
        }
        region
    }

    /// These rows of every partition.
    pub(crate) fn rows(spans: &[Span<'a>]) -> Self {
        let mut region = Self::default();
        region.push(Span::ALL, spans.iter().copied().filter(|span| span.start < span.end).collect());
        region
    }

    /// The keys between pairs of edges, which are in order and do not touch.
    pub(crate) fn between(edges: &[(Edge<'a>, Edge<'a>)]) -> Self {
        let mut region = Self::default();
        for &(start, end) in edges {
            region.push_between(start, end);
        }
        region
    }

    /// Does it contain every key?
    pub(crate) fn is_all(&self) -> bool {
        matches!(&*self.0, [piece] if piece.partitions == Span::ALL && *piece.rows == [Span::ALL])
    }

    /// Length of its description.
    pub(crate) fn stretches(&self) -> usize {
        self.0.iter().map(|piece| piece.rows.len()).sum()
    }

    /// The keys in both sets.
    pub(crate) fn intersect(&self, other: &Self) -> Joined<'a> {
        let Some(shared) = self.shared_partitions(other) else {
            return Joined { region: Self::default(), exact: true };
        };
        combine(self.overlapping(shared), other.overlapping(shared), intersect_rows)
    }

    /// Determines how much of this set the other one contains. Stops as soon as that is known, and adds the
    /// number of steps to `looked`.
    pub(crate) fn share_in(&self, other: &Self, looked: &mut usize) -> Share {
        let Some(shared) = self.shared_partitions(other) else { return Share::None };
        let (own, others) = (self.overlapping(shared), other.overlapping(shared));
        let mut some = false;
        let mut all = own.len() == self.0.len();
        for (_, own, others) in Stretches::new(own, others) {
            *looked += 1 + own.len();
            all = all && own.iter().all(|span| span.lies_in(others));
            some = some || own.iter().any(|span| span.meets(others));
            if some && !all {
                return Share::Some;
            }
        }
        if some { Share::All } else { Share::None }
    }

    /// The keys in at least one of the sets.
    pub(crate) fn union(&self, other: &Self) -> Joined<'a> {
        combine(&self.0, &other.0, union_rows)
    }

    /// Pairs of edges that contain the set, in order and not touching. A stretch of several partitions becomes one pair from its
    /// first row to its last, since matching rows of different partitions are not adjacent.
    pub(crate) fn edges(&self) -> Vec<(Edge<'a>, Edge<'a>)> {
        let mut edges: Vec<(Edge<'a>, Edge<'a>)> = Vec::new();
        let mut push = |start: Edge<'a>, end: Edge<'a>| match edges.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => edges.push((start, end)),
        };
        for piece in &self.0 {
            if let Some(partition) = piece.partitions.single() {
                for span in &piece.rows {
                    push(Edge::At(partition, span.start), Edge::At(partition, span.end));
                }
            } else if let Some(rows) = cover(&piece.rows) {
                push(first_edge(piece.partitions.start, rows), last_edge(piece.partitions.end, rows));
            }
        }
        edges
    }

    /// A stretch that contains all partitions in which both sets have rows.
    fn shared_partitions(&self, other: &Self) -> Option<Span<'a>> {
        let start = self.0.first()?.partitions.start.max(other.0.first()?.partitions.start);
        let end = self.0.last()?.partitions.end.min(other.0.last()?.partitions.end);
        (start < end).then_some(Span { start, end })
    }

    /// The pieces that overlap a stretch of partitions.
    fn overlapping(&self, shared: Span<'a>) -> &[Piece<'a>] {
        let from = self.0.partition_point(|piece| piece.partitions.end <= shared.start);
        let rest = &self.0[from..];
        &rest[..rest.partition_point(|piece| piece.partitions.start < shared.end)]
    }

    /// Appends keys that follow all others: later partitions, or later rows of the last partitions.
    fn push(&mut self, partitions: Span<'a>, rows: Rows<'a>) {
        if partitions.start >= partitions.end || rows.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.partitions == partitions => last.rows.extend(rows),
            Some(last) if last.partitions.end == partitions.start && last.rows == rows => {
                last.partitions.end = partitions.end;
            }
            _ => self.0.push(Piece { partitions, rows }),
        }
    }

    fn push_between(&mut self, start: Edge<'a>, end: Edge<'a>) {
        let Edge::At(first, from) = start else { return };
        let (last, to) = match end {
            Edge::At(last, to) if last == first => {
                return self.push_rows(first, from, to);
            }
            Edge::At(last, to) => (Some(last), to),
            Edge::End => (None, Cut::START),
        };
        let mut whole = Span { start: Cut::Before(first), end: last.map_or(Cut::End, Cut::Before) };
        if from != Cut::START {
            self.push_rows(first, from, Cut::End);
            whole.start = Cut::After(first);
        }
        if let (Some(last), Cut::End) = (last, to) {
            whole.end = Cut::After(last);
        }
        self.push(whole, vec![Span::ALL]);
        if let (Some(last), Cut::Before(_) | Cut::After(_)) = (last, to) {
            self.push_rows(last, Cut::START, to);
        }
    }

    fn push_rows(&mut self, partition: &'a str, start: Cut<'a>, end: Cut<'a>) {
        if start < end {
            self.push(Span::only(partition), vec![Span { start, end }]);
        }
    }
}

/// Start of the rows of a stretch of partitions. Rows that cannot match are excluded from its first partition,
/// unless the stretch starts at the beginning of the table, where it is a table scan anyway.
fn first_edge<'a>(partitions: Cut<'a>, rows: Span<'a>) -> Edge<'a> {
    match partitions {
        Cut::START => Edge::START,
        Cut::Before(partition) => Edge::At(partition, rows.start),
        Cut::After(partition) => Edge::At(partition, Cut::End),
        Cut::End => Edge::End,
    }
}

fn last_edge<'a>(partitions: Cut<'a>, rows: Span<'a>) -> Edge<'a> {
    match partitions {
        Cut::Before(partition) => Edge::At(partition, Cut::START),
        Cut::After(partition) => Edge::At(partition, rows.end),
        Cut::End => Edge::End,
    }
}

/// Joins two sets stretch by stretch. Once the result is too long, rows are replaced by a span that covers them. This only
/// adds keys, and neither operation loses keys when its inputs grow.
fn combine<'a>(
    left: &[Piece<'a>],
    right: &[Piece<'a>],
    rows: fn(&[Span<'a>], &[Span<'a>]) -> Rows<'a>,
) -> Joined<'a> {
    let mut region = Region::default();
    let mut stretches = 0;
    for (partitions, left, right) in Stretches::new(left, right) {
        let joined = if stretches < REGION_STRETCHES_MAX {
            rows(left, right)
        } else {
            rows(cover(left).as_slice(), cover(right).as_slice())
        };
        stretches += joined.len();
        region.push(partitions, joined);
    }
    Joined { region, exact: stretches < REGION_STRETCHES_MAX }
}

/// Iterates over two sets together: within each step, neither of them changes.
struct Stretches<'r, 'a> {
    left: &'r [Piece<'a>],
    right: &'r [Piece<'a>],
    at: Cut<'a>,
}

impl<'r, 'a> Stretches<'r, 'a> {
    fn new(left: &'r [Piece<'a>], right: &'r [Piece<'a>]) -> Self {
        Self { left, right, at: Cut::START }
    }

    /// The rows after the cut, and the next cut at which they change. Skips pieces before the cut.
    fn look(pieces: &mut &'r [Piece<'a>], at: Cut<'a>) -> (&'r [Span<'a>], Cut<'a>) {
        while let Some((first, rest)) = pieces.split_first() {
            if first.partitions.start > at {
                return (&[], first.partitions.start);
            }
            if first.partitions.end > at {
                return (&first.rows, first.partitions.end);
            }
            *pieces = rest;
        }
        (&[], Cut::End)
    }
}

impl<'r, 'a> Iterator for Stretches<'r, 'a> {
    type Item = (Span<'a>, &'r [Span<'a>], &'r [Span<'a>]);

    fn next(&mut self) -> Option<Self::Item> {
        let (left, left_end) = Self::look(&mut self.left, self.at);
        let (right, right_end) = Self::look(&mut self.right, self.at);
        let partitions = Span { start: self.at, end: left_end.min(right_end) };
        self.at = partitions.end;
        (partitions.start < partitions.end).then_some((partitions, left, right))
    }
}

/// One span from the first row to the last, if there are any.
fn cover<'a>(rows: &[Span<'a>]) -> Option<Span<'a>> {
    Some(Span { start: rows.first()?.start, end: rows.last()?.end })
}

fn intersect_rows<'a>(mut left: &[Span<'a>], mut right: &[Span<'a>]) -> Rows<'a> {
    let mut rows = Vec::new();
    while let (Some(a), Some(b)) = (left.first(), right.first()) {
        let (start, end) = (a.start.max(b.start), a.end.min(b.end));
        if start < end {
            rows.push(Span { start, end });
        }
        if a.end <= b.end { left = &left[1..] } else { right = &right[1..] }
    }
    rows
}

fn union_rows<'a>(left: &[Span<'a>], right: &[Span<'a>]) -> Rows<'a> {
    let mut spans = [left, right].concat();
    spans.sort_by_key(|span| span.start);
    let mut rows: Rows<'a> = Vec::with_capacity(spans.len());
    for next in spans {
        match rows.last_mut() {
            Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
            _ => rows.push(next),
        }
    }
    rows
}
