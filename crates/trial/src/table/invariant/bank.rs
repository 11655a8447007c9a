//! Accounts with money: transfers move money, but never create or lose any.

use super::{Invariant, ROWS, Read};
use crate::random::Random;

const MONEY: i64 = 1000;

/// The sum of all rows is constant, and no row is negative.
#[derive(Clone, Copy, Debug)]
pub struct Bank;

impl Invariant for Bank {
    const NAME: &'static str = "bank";

    fn first() -> [i64; ROWS] {
        [MONEY; ROWS]
    }

    fn change(rows: &[Read], random: &mut Random) -> Vec<(usize, i64)> {
        let from = random.below(ROWS);
        let to = (from + 1 + random.below(ROWS - 1)) % ROWS;
        let amount = i64::try_from(random.below(100)).unwrap_or(0).min(rows[from].value);
        vec![(from, rows[from].value - amount), (to, rows[to].value + amount)]
    }

    fn holds(values: &[i64]) -> Result<(), String> {
        let total: i64 = values.iter().sum();
        if total == MONEY * ROWS as i64 && values.iter().all(|value| *value >= 0) {
            return Ok(());
        }
        Err(format!("the accounts hold {total}: {values:?}"))
    }
}
