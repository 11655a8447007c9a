//! The reasons why an operation failed: the request or the engine.

use lazuli_model::table::row::CorruptRow;
use lazuli_model::{ErrorCode, Failure};

/// The result of an operation.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why an operation did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The request failed; the client gets this failure.
    Rejected(Failure),
    /// The engine failed: the client gets a general error, the log has the details.
    Engine(lazuli_engine::Error),
}

impl Error {
    /// The failure that the client gets.
    pub fn failure(&self) -> Failure {
        match self {
            Error::Rejected(failure) => failure.clone(),
            Error::Engine(error) => match error {
                // The error and the code both mean that nothing was applied.
                lazuli_engine::Error::Conflict | lazuli_engine::Error::Busy(_) => {
                    ErrorCode::ServerBusy.into()
                }
                lazuli_engine::Error::TooLarge(_) => ErrorCode::KeyValueTooLarge.into(),
                // The error and the code both leave the outcome open.
                lazuli_engine::Error::Unknown(_) => ErrorCode::OperationTimedOut.into(),
                // Not 503, which means temporary overload: these need an operator.
                lazuli_engine::Error::Unavailable(_)
                | lazuli_engine::Error::Corrupt(_)
                | lazuli_engine::Error::Poisoned(_) => ErrorCode::InternalError.into(),
            },
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Error::Rejected(failure)
    }
}

impl From<ErrorCode> for Error {
    fn from(code: ErrorCode) -> Self {
        Error::Rejected(code.into())
    }
}

impl From<lazuli_engine::Error> for Error {
    fn from(error: lazuli_engine::Error) -> Self {
        Error::Engine(error)
    }
}

impl From<CorruptRow> for Error {
    fn from(corrupt: CorruptRow) -> Self {
        Error::Engine(lazuli_engine::Error::Corrupt(corrupt.to_string()))
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Rejected(failure) => failure.fmt(f),
            Error::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use lazuli_engine::Error as EngineError;
    use lazuli_model::WasApplied;

    use super::*;

    /// An error says that nothing was applied only if that is certain: clients retry such requests blindly.
    #[test]
    fn engine_errors_claim_no_more_than_is_known() {
        let why = || "why".to_owned();
        for (error, status, code, applied) in [
            (EngineError::Conflict, 503, ErrorCode::ServerBusy, WasApplied::No),
            (EngineError::Busy(why()), 503, ErrorCode::ServerBusy, WasApplied::No),
            (EngineError::TooLarge(why()), 400, ErrorCode::KeyValueTooLarge, WasApplied::No),
            (EngineError::Unknown(why()), 500, ErrorCode::OperationTimedOut, WasApplied::Unknown),
            (EngineError::Unavailable(why()), 500, ErrorCode::InternalError, WasApplied::Unknown),
            (EngineError::Corrupt(why()), 500, ErrorCode::InternalError, WasApplied::Unknown),
            (EngineError::Poisoned(why()), 500, ErrorCode::InternalError, WasApplied::Unknown),
        ] {
            let told = Error::Engine(error).failure().code;
            assert_eq!((told, told.status(), told.applied()), (code, status, applied));
        }
    }
}
