//! Detects continuations that form a cycle.

use crate::error::{Error, Result};
use crate::page::Continuation;

/// Maximum number of consecutive empty pages with the same continuation.
const STALLS_MAX: u32 = 16;

/// The sequence of continuations of a query, for programs that request pages themselves ([`crate::PageSource::page`]);
/// queries have their own.
///
/// It stores one continuation, and replaces it each time the number of steps has doubled. So a cycle of any
/// length is detected before it was traversed three times (PG-15).
///
/// ```
/// use lazuli_client::{Continuation, Trail};
///
/// let (a, b): (Continuation, Continuation) = ("NextPartitionKey=a".parse()?, "NextPartitionKey=b".parse()?);
/// let mut trail = Trail::default();
/// assert!([&a, &b].into_iter().all(|place| trail.advance(Some(place), false).is_ok()));
/// // And then to a, to b, to a…
/// assert!([&a, &b].into_iter().cycle().take(8).any(|place| trail.advance(Some(place), false).is_err()));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trail<P = Continuation> {
    place: Option<P>,
    landmark: Option<P>,
    /// Steps since the landmark, and the number after which another one is chosen.
    steps: u64,
    steps_max: u64,
    stalls: u32,
}

impl<P> Default for Trail<P> {
    fn default() -> Self {
        Self::starting_at(None)
    }
}

impl<P> Trail<P> {
    /// A trail that starts at a continuation, if there is one.
    ///
    /// ```
    /// use lazuli_client::{Continuation, Trail};
    ///
    /// let place: Continuation = "NextPartitionKey=a".parse()?;
    /// let mut trail = Trail::starting_at(Some(place.clone()));
    /// assert!(trail.advance(Some(&place), false).is_err(), "the page leads back to its start");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn starting_at(place: Option<P>) -> Self {
        Self { place, landmark: None, steps: 0, steps_max: 1, stalls: 0 }
    }
}

impl<P: Clone + PartialEq> Trail<P> {
    /// Records the continuation of a page, and whether the page was empty: a service that has not found
    /// anything yet may return the same continuation a few times. It is an error if the continuation occurred
    /// before.
    ///
    /// ```
    /// use lazuli_client::{Continuation, Trail};
    ///
    /// let mut trail = Trail::<Continuation>::default();
    /// assert!(trail.advance(None, false).is_ok(), "the last page has no continuation");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn advance(&mut self, next: Option<&P>, is_empty: bool) -> Result<()> {
        let Some(next) = next else { return Ok(()) };
        if self.place.as_ref() == Some(next) {
            self.stalls += 1;
            if !is_empty || self.stalls > STALLS_MAX {
                return Err(Error::unreadable("the service returned the same continuation again"));
            }
            return Ok(());
        }
        self.stalls = 0;
        if self.landmark.as_ref() == Some(next) {
            return Err(Error::unreadable("the continuations of the service form a cycle"));
        }
        self.place = Some(next.clone());
        self.steps += 1;
        if self.steps == self.steps_max {
            self.landmark = Some(next.clone());
            self.steps = 0;
            self.steps_max = self.steps_max.saturating_mul(2);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of steps until a cycle after a start section is detected.
    fn steps_round(beginning: u32, circle: u32) -> u32 {
        let mut trail = Trail::default();
        let place = |step: u32| if step < beginning { step } else { beginning + (step - beginning) % circle };
        (0..).find(|step| trail.advance(Some(&place(*step)), true).is_err()).unwrap()
    }

    #[test]
    fn every_cycle_is_detected_soon() {
        for beginning in 0..40 {
            for circle in 2..40 {
                let steps = steps_round(beginning, circle);
                assert!(steps <= 3 * (beginning + circle), "{beginning} and {circle}: {steps}");
            }
        }
        assert!(steps_round(0, 1) <= STALLS_MAX + 1, "an unchanged continuation");
    }

    #[test]
    fn a_sequence_without_a_cycle_never_fails() {
        let mut trail = Trail::default();
        assert!((0..100_000).all(|place: u32| trail.advance(Some(&place), false).is_ok()));
    }
}
