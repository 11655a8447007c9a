//! Batches callers: each gets the result of a round that started after its call.
//!
//! Callers that arrive during a round wait for the next one and share it. If a round is cancelled, the next caller
//! starts another one.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

/// Rounds of a task that needs `S` and returns `T`.
pub struct Turns<S, T> {
    started: AtomicU64,
    state: Mutex<State<S, T>>,
}

struct State<S, T> {
    tool: S,
    last: Option<(u64, T)>,
}

impl<S, T: Clone> Turns<S, T> {
    /// No round yet.
    pub fn new(tool: S) -> Self {
        Self { started: AtomicU64::new(0), state: Mutex::new(State { tool, last: None }) }
    }

    /// The result of a round that began after this call.
    pub async fn after_now<F>(&self, errand: impl FnOnce(S) -> F) -> T
    where
        F: Future<Output = (S, T)>,
        S: Default,
    {
        let wanted = self.started.load(Ordering::SeqCst) + 1;
        let mut state = self.state.lock().await;
        if let Some((round, result)) = &state.last
            && *round >= wanted
        {
            return result.clone();
        }
        let round = self.started.fetch_add(1, Ordering::SeqCst) + 1;
        let (tool, result) = errand(std::mem::take(&mut state.tool)).await;
        state.tool = tool;
        state.last = Some((round, result.clone()));
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Notify;

    use super::*;

    /// Callers that arrive during a round share the next one, and get nothing from the current one.
    #[tokio::test]
    async fn rounds_are_shared() {
        let turns = Arc::new(Turns::<u32, u32>::new(0));
        let (entered, proceed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let first = {
            let (turns, entered, proceed) = (turns.clone(), entered.clone(), proceed.clone());
            tokio::spawn(async move {
                turns
                    .after_now(|count| async move {
                        entered.notify_one();
                        proceed.notified().await;
                        (count + 1, count + 1)
                    })
                    .await
            })
        };
        entered.notified().await;
        let late: Vec<_> = (0..5)
            .map(|_| {
                let turns = turns.clone();
                tokio::spawn(
                    async move { turns.after_now(|count| async move { (count + 1, count + 1) }).await },
                )
            })
            .collect();
        tokio::task::yield_now().await;
        proceed.notify_one();
        assert_eq!(first.await.unwrap(), 1);
        for task in late {
            assert_eq!(task.await.unwrap(), 2);
        }
        assert_eq!(turns.after_now(|count| async move { (count + 1, count + 1) }).await, 3);
    }
}
