//! Waiting without a cost per request: for the next request, and for work that rarely has to wait.
//!
//! A connection waits as often as it serves a request. A new timer and a new registration for the stop signal
//! would each take a shared lock twice per request. So a connection registers both once, and keeps them.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

/// The reason why a wait ended without its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The server stops.
    Stop,
    /// The deadline has passed.
    Timeout,
}

/// The timer and the stop signal of a connection.
pub struct Idle {
    /// Detects cheaply that the server has not been stopped.
    stop: watch::Receiver<bool>,
    /// Completes when the server stops.
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    has_stopped: bool,
    /// It may still be set for the deadline of an earlier wait. If it fires too early, it is set again.
    timer: Pin<Box<Sleep>>,
    /// The task that both wake.
    waker: Waker,
}

impl Idle {
    /// The state of a connection whose first wait ends at `deadline`.
    pub fn new(stop: &watch::Receiver<bool>, deadline: Instant) -> Self {
        let (mut stop, mut own) = (stop.clone(), stop.clone());
        let has_stopped = *stop.borrow_and_update();
        let stopping = Box::pin(async move {
            // If the sender is gone, the server is stopping too.
            let _ = own.wait_for(|stop| *stop).await;
        });
        let timer = Box::pin(sleep_until(deadline));
        Self { stop, stopping, has_stopped, timer, waker: Waker::noop().clone() }
    }

    /// Does the server stop?
    pub fn is_stopping(&self) -> bool {
        self.has_stopped || !matches!(self.stop.has_changed(), Ok(false)) && *self.stop.borrow()
    }

    /// Waits until `deadline`, or until the stop signal unless `is_busy`.
    pub fn poll(
        &mut self,
        context: &mut Context<'_>,
        deadline: Instant,
        is_busy: bool,
    ) -> Poll<Interruption> {
        let is_registered = self.waker.will_wake(context.waker());
        if !is_registered {
            self.waker = context.waker().clone();
        }
        if self.poll_stop(context, is_registered).is_ready() && !is_busy {
            return Poll::Ready(Interruption::Stop);
        }
        self.poll_timer(context, is_registered, deadline).map(|()| Interruption::Timeout)
    }

    fn poll_stop(&mut self, context: &mut Context<'_>, is_registered: bool) -> Poll<()> {
        if !self.has_stopped {
            if is_registered && matches!(self.stop.has_changed(), Ok(false)) {
                return Poll::Pending;
            }
            ready!(self.stopping.as_mut().poll(context));
            self.has_stopped = true;
        }
        Poll::Ready(())
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, is_registered: bool, deadline: Instant) -> Poll<()> {
        if self.timer.deadline() > deadline {
            self.timer.as_mut().reset(deadline);
        } else if is_registered && !self.timer.is_elapsed() {
            return Poll::Pending;
        }
        loop {
            ready!(self.timer.as_mut().poll(context));
            if self.timer.deadline() >= deadline {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(deadline);
        }
    }
}

/// Completes `work`, or fails at a deadline. The timer is used only if the work has to wait.
pub async fn within<T>(
    deadline: impl FnOnce() -> Instant,
    work: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let mut work = pin!(work);
    match poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
        Poll::Ready(done) => done,
        Poll::Pending => timeout_at(deadline(), work).await?,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn wait(idle: &mut Idle, seconds: u64, is_busy: bool) -> (Interruption, Duration) {
        let start = Instant::now();
        let deadline = start + Duration::from_secs(seconds);
        let why = poll_fn(|context| idle.poll(context, deadline, is_busy)).await;
        (why, start.elapsed().min(Duration::from_secs(seconds)))
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_has_its_own_deadline() {
        let (_stop, stopped) = watch::channel(false);
        let mut idle = Idle::new(&stopped, Instant::now() + Duration::from_secs(10));
        for seconds in [10, 120, 5, 120] {
            let (why, time) = wait(&mut idle, seconds, false).await;
            assert_eq!((why, time.as_secs()), (Interruption::Timeout, seconds));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_stop_signal_ends_a_wait_unless_a_request_is_under_way() {
        let (stop, stopped) = watch::channel(false);
        let mut idle = Idle::new(&stopped, Instant::now() + Duration::from_secs(10));
        assert_eq!(wait(&mut idle, 1, false).await.0, Interruption::Timeout);
        assert!(!idle.is_stopping());
        let task = tokio::spawn(async move {
            let first = wait(&mut idle, 60, false).await;
            (first, wait(&mut idle, 7, true).await, wait(&mut idle, 7, false).await, idle.is_stopping())
        });
        // The work is waiting now. The clock moves only when every task waits.
        tokio::task::yield_now().await;
        stop.send(true).unwrap();
        let (first, busy, again, is_stopping) = task.await.unwrap();
        assert_eq!(first, (Interruption::Stop, Duration::ZERO));
        assert_eq!(busy, (Interruption::Timeout, Duration::from_secs(7)));
        assert_eq!((again, is_stopping), ((Interruption::Stop, Duration::ZERO), true));
    }

    #[tokio::test]
    async fn a_server_that_has_stopped_already_is_noticed() {
        let (stop, mut stopped) = watch::channel(false);
        stop.send(true).unwrap();
        stopped.mark_unchanged();
        let mut idle = Idle::new(&stopped, Instant::now() + Duration::from_secs(10));
        assert_eq!(wait(&mut idle, 10, false).await.0, Interruption::Stop);
        let (stop, stopped) = watch::channel(false);
        drop(stop);
        let mut idle = Idle::new(&stopped, Instant::now() + Duration::from_secs(10));
        assert_eq!(wait(&mut idle, 10, false).await.0, Interruption::Stop);
    }
}
