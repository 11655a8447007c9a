//! Runs an operation within its timeout and turns its errors into failures for the client.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use lazuli_model::{ErrorCode, Failure};
use lazuli_protocol::http::response::Context;
use tokio::time::timeout;

use crate::http::BoxFuture;
use crate::state::State;

impl State {
    /// Waits for an operation, for at most `time`.
    pub(crate) async fn within<T>(
        &self,
        context: &Context,
        time: Duration,
        work: impl Future<Output = lazuli_service::Result<T>>,
    ) -> Result<T, Failure> {
        let mut work = pin!(work);
        // Most reads complete immediately and need no timer.
        let first = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
        let done = match first {
            Poll::Ready(done) => Ok(done),
            Poll::Pending => timeout(time, work).await,
        };
        match done {
            Ok(done) => done.map_err(|error| logged(context, &error)),
            Err(_) => Err(ErrorCode::OperationTimedOut.into()),
        }
    }

    /// Runs a change of cached records in a separate task. It continues after its request has timed out: if it
    /// were cancelled midway, the engine might apply it without the cache noticing.
    pub(crate) async fn detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = lazuli_service::Result<T>> + Send + 'static,
    ) -> lazuli_service::Result<T> {
        let permit = self.change_permit().await?;
        let work: BoxFuture<'static, _> = Box::pin(async move {
            let _permit = permit;
            work.await
        });
        let task = tokio::spawn(work);
        task.await.unwrap_or_else(|error| {
            tracing::error!(%error, "catalog change ended without an outcome");
            Err(ErrorCode::InternalError.into())
        })
    }
}

/// The failure that the client gets. Errors of the engine are logged in full.
pub(crate) fn logged(context: &Context, error: &lazuli_service::Error) -> Failure {
    if let lazuli_service::Error::Engine(error) = error {
        tracing::error!(request_id = %context.request_id, %error, "storage engine failed");
    }
    error.failure()
}
