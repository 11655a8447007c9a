//! The meaning of an error of the database: whether anything was applied, and how to proceed.

use lazuli_engine::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// Why a transaction failed.
#[derive(Clone, Debug)]
pub enum Failure {
    /// A condition did not hold; nothing was applied.
    Guard,
    /// Another transaction conflicted; nothing was applied, and a retry may succeed.
    Conflict,
    /// The connection broke, is in an unknown state, or timed out: it is unknown whether the transaction was
    /// applied.
    Lost(String),
    /// The server no longer accepts writes; nothing was applied.
    Deposed(String),
    /// Nothing was applied, and a retry would not help.
    Denied(Error),
}

impl Failure {
    /// For a call that changes nothing: the error for the caller.
    pub fn of_read(self) -> Error {
        match self {
            Failure::Guard | Failure::Conflict => Error::Conflict,
            Failure::Lost(why) | Failure::Deposed(why) => Error::Unavailable(why),
            Failure::Denied(error) => error,
        }
    }

    /// Can a call that changes nothing be retried?
    pub fn is_transient(&self) -> bool {
        matches!(self, Failure::Conflict | Failure::Lost(_) | Failure::Deposed(_))
    }
}

/// Classifies an error by its effect. A server that responds with an error has rolled back the transaction,
/// unless it is shutting down while a commit waits for confirmation.
pub fn failure(error: &tokio_postgres::Error) -> Failure {
    let Some(code) = error.code() else { return Failure::Lost(describe(error)) };
    match code.code() {
        // unique_violation, division_by_zero
        "23505" | "22012" => Failure::Guard,
        // serialization_failure, deadlock_detected, lock_not_available
        "40001" | "40P01" | "55P03" => Failure::Conflict,
        // statement_completion_unknown, transaction_integrity_constraint_violation, shut down in the middle
        "40003" | "57P01" | "57P02" => Failure::Lost(describe(error)),
        // read_only_sql_transaction, cannot_connect_now
        "25006" | "57P03" => Failure::Deposed(describe(error)),
        // program_limit_exceeded
        code if code.starts_with("54") => Failure::Denied(Error::TooLarge(describe(error))),
        // connection_exception
        code if code.starts_with("08") => Failure::Lost(describe(error)),
        // data_corrupted, index_corrupted
        "XX001" | "XX002" => Failure::Denied(Error::Corrupt(describe(error))),
        _ => Failure::Denied(Error::Unavailable(describe(error))),
    }
}

/// The error with the server's message.
pub fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} ({})", db.message(), db.code().code()),
        None => {
            let cause = std::error::Error::source(error);
            cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
        }
    }
}

/// Does a notice during a commit say that it was not confirmed? PostgreSQL reports success with a warning for a
/// commit that stopped waiting for its standby.
pub fn is_doubtful(notice: &DbError) -> bool {
    let code = notice.code();
    notice.parsed_severity() == Some(Severity::Warning)
        && (*code == SqlState::WARNING || *code == SqlState::ADMIN_SHUTDOWN)
}
