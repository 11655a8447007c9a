//! The rules that all engines share, without any storage: what a write does to a row, and where a page ends.

use bytes::Bytes;

use crate::types::{
    Change, Condition, KeyPosition, Next, Page, Reason, Row, RowView, Scan, Verdict, Version, Write,
};
use crate::{Result, types::Judge};

/// The effect of a write on its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The next state of the row.
    pub next: Next,
    /// The value was computed by an update, so the caller does not know it yet.
    pub is_computed: bool,
}

impl Decision {
    /// The value to report in [`Applied::Done`](crate::Applied::Done).
    pub fn computed(&self) -> Option<Bytes> {
        match &self.next {
            Next::Put(value) if self.is_computed => Some(value.clone()),
            Next::Put(_) | Next::Delete | Next::Keep => None,
        }
    }
}

/// Evaluates one write of the commit `version` on a row in the state `current`.
pub fn decide(
    write: &Write,
    current: Option<(Version, &Bytes)>,
    version: Version,
) -> std::result::Result<Decision, Reason> {
    check(write.condition, current.map(|(version, _)| version))?;
    let next = match &write.change {
        Change::Put(value) => Next::Put(value.clone()),
        Change::Update(update) => {
            update.next(current.map(|(_, value)| value), version).map_err(Reason::Rejected)?
        }
        Change::Delete => Next::Delete,
    };
    Ok(Decision { next, is_computed: matches!(write.change, Change::Update(_)) })
}

/// Checks the condition of a write on a row with the version `current`; `None` if there is no such row.
pub fn check(condition: Condition, current: Option<Version>) -> std::result::Result<(), Reason> {
    match (condition, current) {
        (Condition::Any, _) | (Condition::Absent, None) | (Condition::Exists, Some(_)) => Ok(()),
        (Condition::Absent, Some(_)) => Err(Reason::Exists),
        (Condition::Exists | Condition::Version(_) | Condition::Never, None) => Err(Reason::Missing),
        (Condition::Version(wanted), Some(found)) if wanted == found => Ok(()),
        (Condition::Version(_) | Condition::Never, Some(_)) => Err(Reason::Mismatch),
    }
}

/// The version of the next commit: the time, unless that would not be greater than the last one.
pub fn next_version(ticks: u64, last: Version) -> Version {
    Version(ticks.max(last.0.saturating_add(1)))
}

/// How a scan continues after a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offered {
    /// At the next row.
    Next,
    /// The page ends before the row.
    End,
    /// At the first row of this partition, or of a later one.
    Leap(Box<str>),
}

/// Builds a page from the rows that a scan reaches.
pub struct Pager {
    page: Page,
    judge: Judge,
    rows_max: usize,
    bytes_max: usize,
    bytes: usize,
}

impl Pager {
    /// An empty page with the limits and the judge of `scan`.
    pub fn new(scan: Scan) -> Self {
        let Scan { rows_max, bytes_max, judge, .. } = scan;
        Self { page: Page::default(), judge, rows_max, bytes_max, bytes: 0 }
    }

    /// Takes the next row in order; `false` if the page ends before it. `value` produces the row's value if the row
    /// is kept.
    pub fn offer(&mut self, view: RowView<'_>, value: impl FnOnce() -> Bytes) -> Result<bool> {
        match self.offer_or_leap(view, value)? {
            Offered::Next => Ok(true),
            Offered::End => Ok(false),
            Offered::Leap(_) => {
                self.end_at(&view);
                Ok(false)
            }
        }
    }

    /// Like [`Self::offer`], for an engine that can continue at another partition.
    pub fn offer_or_leap(&mut self, view: RowView<'_>, value: impl FnOnce() -> Bytes) -> Result<Offered> {
        if self.page.rows.len() >= self.rows_max {
            return Ok(self.end_at(&view));
        }
        self.page.rows_read += 1;
        match (self.judge)(view)? {
            Verdict::Skip => Ok(Offered::Next),
            Verdict::Stop => Ok(self.end_at(&view)),
            Verdict::Leap(partition) => Ok(Offered::Leap(partition)),
            Verdict::Keep => {
                let bytes = self.bytes.saturating_add(view.value.len());
                if bytes > self.bytes_max && !self.page.rows.is_empty() {
                    return Ok(self.end_at(&view));
                }
                self.bytes = bytes;
                self.page.rows.push(Row {
                    partition: view.partition.into(),
                    row: view.row.into(),
                    version: view.version,
                    value: value(),
                });
                Ok(Offered::Next)
            }
        }
    }

    /// The page.
    pub fn finish(self) -> Page {
        self.page
    }

    /// Ends the page before a row.
    pub fn end_at(&mut self, view: &RowView<'_>) -> Offered {
        self.page.next = Some(KeyPosition { partition: view.partition.into(), row: view.row.into() });
        Offered::End
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_grow_whatever_the_clock_does() {
        assert_eq!(next_version(10, Version(3)), Version(10));
        assert_eq!(next_version(3, Version(3)), Version(4));
        assert_eq!(next_version(1, Version(3)), Version(4));
    }

    /// Every condition on a missing row, on one with the version named (5), and on one with another.
    #[test]
    fn conditions() {
        use Condition::{Absent, Any, Exists, Never};
        let named = Condition::Version(Version(5));
        for (condition, missing, same, other) in [
            (Any, Ok(()), Ok(()), Ok(())),
            (Absent, Ok(()), Err(Reason::Exists), Err(Reason::Exists)),
            (Exists, Err(Reason::Missing), Ok(()), Ok(())),
            (named, Err(Reason::Missing), Ok(()), Err(Reason::Mismatch)),
            (Never, Err(Reason::Missing), Err(Reason::Mismatch), Err(Reason::Mismatch)),
        ] {
            assert_eq!(check(condition, None), missing, "{condition:?}");
            assert_eq!(check(condition, Some(Version(5))), same, "{condition:?}");
            assert_eq!(check(condition, Some(Version(6))), other, "{condition:?}");
        }
    }
}
