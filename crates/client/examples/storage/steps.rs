//! Workers that stop after a chosen step, as if their machine had lost power.

use lazuli_client::{Error, Result};

/// The steps of a worker, and the one after which it stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steps {
    crash_after: Option<u32>,
}

/// Why a worker ended early.
#[derive(Debug)]
pub enum Stop {
    /// It was to stop here.
    Crash,
    /// An unexpected response of a service.
    Error(Error),
}

pub type Work<T> = std::result::Result<T, Stop>;

impl Steps {
    /// All steps.
    pub fn all() -> Self {
        Self::default()
    }

    /// All steps up to this one.
    pub fn crash_after(step: u32) -> Self {
        Self { crash_after: Some(step) }
    }

    /// Called when a step is complete.
    pub fn done(&self, step: u32) -> Work<()> {
        if self.crash_after == Some(step) { Err(Stop::Crash) } else { Ok(()) }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

/// The result of a worker; `None` if it crashed as planned.
pub fn survive<T>(work: Work<T>) -> Result<Option<T>> {
    match work {
        Ok(value) => Ok(Some(value)),
        Err(Stop::Crash) => Ok(None),
        Err(Stop::Error(error)) => Err(error),
    }
}

/// The result of a worker that does not crash.
pub fn complete<T>(work: Work<T>) -> Result<T> {
    survive(work)?.ok_or_else(|| Error::input("the worker crashed"))
}
