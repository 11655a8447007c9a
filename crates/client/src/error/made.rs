//! Constructors of the client's errors: from the service, from the transport, and from its own checks.

use lazuli_model::error::WasApplied;
use lazuli_model::{ErrorCode, Failure};

use super::{Applied, Error, ErrorKind, Inner};
use crate::transport::{Reached, TransportError};

impl Error {
    /// A query exceeded its limit of rows in the client.
    pub(crate) fn local_limit(limit: usize, what: &str) -> Self {
        let message =
            format!("'{what}' would hold more than {limit} rows; filter more, or raise local_limit");
        Self::new(ErrorKind::LocalLimit, message)
    }

    /// A response that could not be parsed, so that it is unknown whether the change was applied.
    pub(crate) fn unclear(message: impl Into<String>) -> Self {
        Self::invalid_response(message).with_applied(Applied::Unknown)
    }

    /// A response to a read that could not be parsed. A read changes nothing.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self::invalid_response(message).with_applied(Applied::No)
    }

    /// An error reported by the service.
    pub(crate) fn service(said: Said) -> Self {
        let code = ErrorCode::ALL.iter().copied();
        let mut same_name = code.filter(|code| code.name() == said.code);
        let first = same_name.clone().next();
        let code = same_name.find(|code| code.status() == said.status).or(first);
        let (index, message) = split_index(&said.message);
        let unknown = match code {
            Some(code) => code.applied() == WasApplied::Unknown,
            None => said.status >= 500 && said.status != 501,
        };
        let kind =
            if said.in_batch && index.is_some() { ErrorKind::BatchOperation } else { ErrorKind::Service };
        Self(Box::new(Inner {
            kind,
            code,
            status: Some(said.status),
            message: message.to_owned(),
            request_id: said.request_id,
            batch_index: index.filter(|_| said.in_batch),
            applied: if unknown { Applied::Unknown } else { Applied::No },
            request: None,
            entity: None,
            source: None,
            code_text: said.code,
        }))
    }

    /// Marks this as the last error before the deadline of the operation.
    pub(crate) fn past_deadline(mut self) -> Self {
        self.0.kind = ErrorKind::Deadline;
        self.0.message = format!("the operation exceeded its deadline; last attempt: {}", self.0.message);
        self
    }

    /// Adds the request that failed.
    pub(crate) fn of_request(mut self, method: &http::Method, endpoint: &str, path: &str) -> Self {
        let endpoint = endpoint.trim_end_matches('/');
        self.0.request = Some(format!("{method} {endpoint}/{path}"));
        self
    }

    /// Adds the path of the entity that the request concerns. The URL of an insert or a batch does not contain
    /// it.
    pub(crate) fn of_entity(mut self, path: String) -> Self {
        self.0.entity = Some(path);
        self
    }

    /// Sets whether the change was applied, if an earlier attempt may have applied it.
    pub(crate) fn with_applied(mut self, applied: Applied) -> Self {
        self.0.applied = applied;
        self
    }
}

/// The description of a failure in a response.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub status: u16,
    pub code: String,
    pub message: String,
    pub request_id: Option<String>,
    /// Is it the response to a part of a batch?
    pub in_batch: bool,
}

/// Splits off the index at the start of a message, and the request id and time at its end.
fn split_index(message: &str) -> (Option<usize>, &str) {
    let text = message.split("\nRequestId:").next().unwrap_or(message);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match (text[..digits].parse(), text[digits..].strip_prefix(':')) {
        (Ok(index), Some(rest)) => (Some(index), rest),
        _ => (None, text),
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        let kind = if error.is_too_large() { ErrorKind::InvalidResponse } else { ErrorKind::Transport };
        let mut failed = Self::new(kind, error.to_string());
        failed.0.applied = match error.reached {
            Reached::Nothing => Applied::No,
            Reached::Perhaps => Applied::Unknown,
        };
        failed.0.source = Some(Box::new(error));
        failed
    }
}

/// A check of the data model, before anything is sent.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let mut error = Self::input(failure.message.into_owned());
        error.0.code = Some(failure.code);
        error.0.code_text = failure.code.name().to_owned();
        error
    }
}
