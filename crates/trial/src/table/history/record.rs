//! The operations of a history, and the effect of each on a map.

use crate::linear;

/// Number of rows in the partition of a history.
pub const ROWS: usize = 4;

/// The values of the rows. Every value is written at most once in a history.
pub type RowValues = [Option<u32>; ROWS];

/// A change of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Single {
    /// Insert, if the row does not exist.
    Insert {
        /// Which row.
        row: usize,
        /// The new value.
        value: u32,
    },
    /// Insert or replace.
    Put {
        /// Which row.
        row: usize,
        /// The new value.
        value: u32,
    },
    /// Replace, if the row still has the value that was read before.
    Swap {
        /// Which row.
        row: usize,
        /// The expected value.
        expected: u32,
        /// The new value.
        value: u32,
    },
    /// Delete, if the row still has that value.
    Delete {
        /// Which row.
        row: usize,
        /// The expected value.
        expected: u32,
    },
}

/// An operation of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableCall {
    /// One row.
    Get(usize),
    /// Reads the whole partition in one query.
    Scan,
    /// A change.
    Write(Single),
    /// Executes several changes, all or nothing.
    Transaction(Vec<Single>),
}

/// A response, as seen by a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The value of the row.
    Value(Option<u32>),
    /// The values of all rows.
    Values(RowValues),
    /// Done.
    Applied,
    /// 409.
    Exists,
    /// 404.
    Missing,
    /// 412.
    Mismatch,
}

impl Single {
    /// The row that it concerns.
    pub fn row(&self) -> usize {
        match *self {
            Single::Insert { row, .. }
            | Single::Put { row, .. }
            | Single::Swap { row, .. }
            | Single::Delete { row, .. } => row,
        }
    }

    fn apply(&self, state: &mut RowValues) -> Output {
        let current = state[self.row()];
        let (rejection, next) = match *self {
            Single::Insert { value, .. } => (current.map(|_| Output::Exists), Some(value)),
            Single::Put { value, .. } => (None, Some(value)),
            Single::Swap { expected, value, .. } => (unexpected(current, expected), Some(value)),
            Single::Delete { expected, .. } => (unexpected(current, expected), None),
        };
        if let Some(rejection) = rejection {
            return rejection;
        }
        state[self.row()] = next;
        Output::Applied
    }
}

fn unexpected(current: Option<u32>, expected: u32) -> Option<Output> {
    match current {
        None => Some(Output::Missing),
        Some(value) if value != expected => Some(Output::Mismatch),
        Some(_) => None,
    }
}

impl linear::HistoryOperation for TableCall {
    type State = RowValues;
    type Output = Output;

    fn apply(&self, state: &RowValues) -> (RowValues, Output) {
        let mut next = *state;
        let output = match self {
            TableCall::Get(row) => Output::Value(state[*row]),
            TableCall::Scan => Output::Values(*state),
            TableCall::Write(single) => single.apply(&mut next),
            TableCall::Transaction(parts) => {
                let rejection =
                    parts.iter().map(|part| part.apply(&mut next)).find(|output| *output != Output::Applied);
                match rejection {
                    Some(rejection) => {
                        next = *state;
                        rejection
                    }
                    None => Output::Applied,
                }
            }
        };
        (next, output)
    }
}
