//! The part of a query that runs in the client, row by row.
//!
//! Stages run in the order of the calls. Stages that hold rows count them, and fail at the limit of the query, so that
//! memory does not grow with the table (LA-30).

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::error::{Error, Result};

/// One step of processing.
pub(crate) struct Stage<T> {
    pub(crate) work: Work<T>,
    /// Description for people.
    pub(crate) text: String,
    /// The properties that it uses, so that they are selected.
    pub(crate) names: Vec<String>,
}

pub(crate) enum Work<T> {
    /// Passes some rows.
    Keep(Box<dyn FnMut(&T) -> bool + Send>),
    /// Passes a row if it is new.
    Distinct { is_new: Box<dyn FnMut(&T) -> bool + Send>, seen: usize },
    /// Passes this many more rows, then stops the query.
    Take(u64),
    /// Drops this many more rows.
    Skip(u64),
    /// Holds all rows until the last one has arrived.
    Sort { by: Vec<Compare<T>>, rows: Vec<T> },
}

/// An order of rows.
pub(crate) type Compare<T> = Box<dyn Fn(&T, &T) -> Ordering + Send>;

impl<T> Stage<T> {
    pub(crate) fn new(work: Work<T>, text: impl Into<String>) -> Self {
        Self { work, text: text.into(), names: Vec::new() }
    }

    /// Does a condition select the same rows before and after this stage?
    pub(crate) fn lets_conditions_pass(&self) -> bool {
        matches!(self.work, Work::Keep(_) | Work::Sort { .. })
    }

    /// Does it decide on each row independently?
    pub(crate) fn is_condition(&self) -> bool {
        matches!(self.work, Work::Keep(_))
    }
}

/// The stages of a query, and the rows that have passed them all.
pub(crate) struct LocalPipeline<T> {
    stages: Vec<Stage<T>>,
    ready: VecDeque<T>,
    limit: usize,
    stopped: bool,
}

impl<T> LocalPipeline<T> {
    pub(crate) fn new(stages: Vec<Stage<T>>, limit: usize) -> Self {
        let stopped = stages.iter().any(|stage| matches!(stage.work, Work::Take(0)));
        Self { stages, ready: VecDeque::new(), limit, stopped }
    }

    /// A finished row.
    pub(crate) fn next(&mut self) -> Option<T> {
        self.ready.pop_front()
    }

    /// Has a stage stopped the query, so that no more rows are needed?
    pub(crate) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: T) -> Result<()> {
        self.pass(0, row)
    }

    /// Signals the end of the rows, which releases the held ones.
    pub(crate) fn finish(&mut self) -> Result<()> {
        for at in 0..self.stages.len() {
            if let Work::Sort { by, rows } = &mut self.stages[at].work {
                let mut rows = std::mem::take(rows);
                rows.sort_by(|a, b| {
                    by.iter()
                        .map(|compare| compare(a, b))
                        .find(|order| order.is_ne())
                        .unwrap_or(Ordering::Equal)
                });
                for row in rows {
                    self.pass(at + 1, row)?;
                }
            }
        }
        Ok(())
    }

    /// Passes a row through the stages, starting with this one.
    fn pass(&mut self, from: usize, row: T) -> Result<()> {
        for stage in &mut self.stages[from..] {
            match &mut stage.work {
                Work::Keep(test) => {
                    if !test(&row) {
                        return Ok(());
                    }
                }
                Work::Distinct { is_new, seen } => {
                    if !is_new(&row) {
                        return Ok(());
                    }
                    *seen += 1;
                    check(*seen, self.limit, &stage.text)?;
                }
                Work::Take(0) => return Ok(()),
                Work::Take(left) => {
                    *left -= 1;
                    self.stopped |= *left == 0;
                }
                Work::Skip(0) => {}
                Work::Skip(left) => {
                    *left -= 1;
                    return Ok(());
                }
                Work::Sort { rows, .. } => {
                    check(rows.len() + 1, self.limit, &stage.text)?;
                    rows.push(row);
                    return Ok(());
                }
            }
        }
        self.ready.push_back(row);
        Ok(())
    }
}

/// Fails if the query holds more rows than its limit.
pub(crate) fn check(held: usize, limit: usize, what: &str) -> Result<()> {
    if held > limit { Err(Error::local_limit(limit, what)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(work: Work<i32>) -> Stage<i32> {
        Stage::new(work, "a stage")
    }

    fn sort() -> Work<i32> {
        Work::Sort { by: vec![Box::new(Ord::cmp)], rows: Vec::new() }
    }

    fn keep(test: fn(&i32) -> bool) -> Work<i32> {
        Work::Keep(Box::new(test))
    }

    fn distinct() -> Work<i32> {
        let mut seen = std::collections::HashSet::new();
        Work::Distinct { is_new: Box::new(move |row| seen.insert(*row)), seen: 0 }
    }

    #[track_caller]
    fn check(stages: Vec<Work<i32>>, rows: &[i32], expected: &[i32], needed: usize) {
        let mut pipeline = LocalPipeline::new(stages.into_iter().map(stage).collect(), 100);
        let mut taken = 0;
        for &row in rows {
            if pipeline.stopped() {
                break;
            }
            taken += 1;
            pipeline.push(row).unwrap();
        }
        pipeline.finish().unwrap();
        let out: Vec<i32> = std::iter::from_fn(|| pipeline.next()).collect();
        assert_eq!((out.as_slice(), taken), (expected, needed));
    }

    /// LA-24: stages run in the order of the calls.
    #[test]
    fn stages_run_in_order() {
        let rows = [5, 1, 4, 1, 3];
        check(vec![sort()], &rows, &[1, 1, 3, 4, 5], 5);
        check(vec![Work::Take(2), sort()], &rows, &[1, 5], 2);
        check(vec![sort(), Work::Take(2)], &rows, &[1, 1], 5);
        check(vec![sort(), distinct(), Work::Skip(1), Work::Take(2)], &rows, &[3, 4], 5);
        check(vec![keep(|n| *n > 2), Work::Take(2)], &rows, &[5, 4], 3);
        check(vec![Work::Take(2), keep(|n| *n > 2)], &rows, &[5], 2);
        check(vec![Work::Take(0)], &rows, &[], 0);
        check(vec![Work::Skip(9)], &rows, &[], 5);
    }

    /// LA-30: stages that hold rows fail at the limit.
    #[test]
    fn held_rows_are_bounded() {
        for work in [sort(), distinct()] {
            let mut pipeline = LocalPipeline::new(vec![stage(work)], 2);
            pipeline.push(1).unwrap();
            pipeline.push(2).unwrap();
            let error = pipeline.push(3).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::LocalLimit);
        }
    }
}
