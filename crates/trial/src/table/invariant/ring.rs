//! Rows that refer to each other: every row refers to the next one, so that following the references visits all
//! of them.

use super::{Invariant, ROWS, Read};
use crate::random::Random;

/// The rows always form one ring.
#[derive(Clone, Copy, Debug)]
pub struct Ring;

fn next(value: i64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

impl Invariant for Ring {
    const NAME: &'static str = "ring";

    fn first() -> [i64; ROWS] {
        std::array::from_fn(|row| ((row + 1) % ROWS) as i64)
    }

    /// Changes a → b → c → d into a → c → b → d.
    fn change(rows: &[Read], random: &mut Random) -> Vec<(usize, i64)> {
        let follow = |row: usize| next(rows[row].value);
        let a = random.below(ROWS);
        let (b, c) = (follow(a), follow(follow(a)));
        vec![(a, rows[b].value), (b, rows[c].value), (c, rows[a].value)]
    }

    fn holds(values: &[i64]) -> Result<(), String> {
        let mut at = 0;
        for step in 1..=ROWS {
            at = values.get(at).map_or(usize::MAX, |value| next(*value));
            if (at == 0) != (step == ROWS) {
                return Err(format!("not one ring: {values:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_keep_the_ring() {
        let mut random = Random::from_seed(1);
        let mut values = Ring::first().to_vec();
        for _ in 0..1000 {
            let rows: Vec<Read> = values.iter().map(|&value| Read { value, etag: String::new() }).collect();
            let changes = Ring::change(&rows, &mut random);
            assert_eq!(changes.len(), 3);
            for (row, value) in changes {
                values[row] = value;
            }
            Ring::holds(&values).unwrap();
        }
    }

    #[test]
    fn a_part_of_a_change_breaks_the_ring() {
        let rows: Vec<Read> =
            Ring::first().iter().map(|&value| Read { value, etag: String::new() }).collect();
        let changes = Ring::change(&rows, &mut Random::from_seed(1));
        for part in 1..changes.len() {
            let mut values = Ring::first().to_vec();
            for &(row, value) in &changes[..part] {
                values[row] = value;
            }
            assert!(Ring::holds(&values).is_err(), "{part} of the changes");
        }
    }
}
