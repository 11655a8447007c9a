//! Deadlines by progress: a transfer must move a minimum number of bytes in every window of time.
//!
//! A deadline for a whole body would disconnect honest clients with large bodies; a deadline for each read
//! would let a client trickle one byte at a time forever.

use std::time::Duration;

use tokio::time::Instant;

/// Bytes that a transfer must move in each window. Shorter transfers must complete within one window.
pub const PROGRESS_BYTES_MIN: u64 = 256 * 1024;

/// The deadline of a transfer in progress.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    window: Duration,
    end: Instant,
    moved: u64,
}

impl Deadline {
    /// The deadline of a transfer that starts now.
    pub fn new(window: Duration) -> Self {
        Self { window, end: Instant::now() + window, moved: 0 }
    }

    /// The time at which the transfer fails unless enough bytes have moved by then.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Records progress. A window with enough progress ends, and the next one begins.
    pub fn advance(&mut self, bytes: usize) {
        self.moved += bytes as u64;
        if self.moved >= PROGRESS_BYTES_MIN {
            *self = Self::new(self.window);
        }
    }

    /// Starts a new window: the time until now was not used by the client.
    pub fn restart(&mut self) {
        *self = Self::new(self.window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_enough_progress_moves_the_deadline() {
        let window = Duration::from_secs(30);
        let mut deadline = Deadline::new(window);
        let first = deadline.end();
        tokio::time::advance(Duration::from_secs(10)).await;
        deadline.advance(PROGRESS_BYTES_MIN as usize - 1);
        assert_eq!(deadline.end(), first, "one byte is missing");
        deadline.advance(1);
        assert_eq!(deadline.end(), Instant::now() + window);
        tokio::time::advance(Duration::from_secs(5)).await;
        deadline.restart();
        assert_eq!(deadline.end(), Instant::now() + window);
    }
}
