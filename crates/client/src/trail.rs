//! Notices when a service sends its reader round in a circle.

use crate::error::{Error, Result};
use crate::page::Continuation;

/// How often in a row a service may answer that it has found nothing and is still where it was.
const STALLS_MAX: u32 = 16;

/// The way through the pages of an answer, for whoever asks for them one by one ([`crate::PageSource::page`]); queries go by
/// one of their own.
///
/// It remembers one place, a later one each time the way has doubled: so any circle is noticed before it was gone round
/// three times, however long it is (PG-15).
///
/// ```
/// use lazuli_client::{Continuation, Trail};
///
/// let (a, b): (Continuation, Continuation) = ("NextPartitionKey=a".parse()?, "NextPartitionKey=b".parse()?);
/// let mut trail = Trail::default();
/// assert!([&a, &b].into_iter().all(|place| trail.go_on(Some(place), false).is_ok()));
/// // And on to a, to b, to a…
/// assert!([&a, &b].into_iter().cycle().take(8).any(|place| trail.go_on(Some(place), false).is_err()));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trail<P = Continuation> {
    place: Option<P>,
    landmark: Option<P>,
    /// Steps since the landmark, and how many there may be before another one is chosen.
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
    /// A way that goes on from a place, if it does.
    ///
    /// ```
    /// use lazuli_client::{Continuation, Trail};
    ///
    /// let place: Continuation = "NextPartitionKey=a".parse()?;
    /// let mut trail = Trail::starting_at(Some(place.clone()));
    /// assert!(trail.go_on(Some(&place), false).is_err(), "the page led to where it began");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn starting_at(place: Option<P>) -> Self {
        Self { place, landmark: None, steps: 0, steps_max: 1, stalls: 0 }
    }
}

impl<P: Clone + PartialEq> Trail<P> {
    /// Takes note of where a page says to go on, and whether it was empty: a service that has found nothing so far may stay
    /// where it is, a few times. An error if that leads to where the way has been.
    ///
    /// ```
    /// use lazuli_client::{Continuation, Trail};
    ///
    /// let mut trail = Trail::<Continuation>::default();
    /// assert!(trail.go_on(None, false).is_ok(), "the last page leads nowhere");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn go_on(&mut self, next: Option<&P>, is_empty: bool) -> Result<()> {
        let Some(next) = next else { return Ok(()) };
        if self.place.as_ref() == Some(next) {
            self.stalls += 1;
            if !is_empty || self.stalls > STALLS_MAX {
                return Err(Error::unreadable("the service goes on where it has been asked to go on"));
            }
            return Ok(());
        }
        self.stalls = 0;
        if self.landmark.as_ref() == Some(next) {
            return Err(Error::unreadable("the service sends its reader round in a circle"));
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

    /// Steps until a way with a beginning and a circle is found out.
    fn steps_round(beginning: u32, circle: u32) -> u32 {
        let mut trail = Trail::default();
        let place = |step: u32| if step < beginning { step } else { beginning + (step - beginning) % circle };
        (0..).find(|step| trail.go_on(Some(&place(*step)), true).is_err()).unwrap()
    }

    #[test]
    fn every_circle_is_noticed_soon() {
        for beginning in 0..40 {
            for circle in 2..40 {
                let steps = steps_round(beginning, circle);
                assert!(steps <= 3 * (beginning + circle), "{beginning} and {circle}: {steps}");
            }
        }
        assert!(steps_round(0, 1) <= STALLS_MAX + 1, "one that stays where it is");
    }

    #[test]
    fn a_straight_way_has_no_end() {
        let mut trail = Trail::default();
        assert!((0..100_000).all(|place: u32| trail.go_on(Some(&place), false).is_ok()));
    }
}
