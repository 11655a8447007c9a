//! The log: one line per event, on standard error.

use std::fs::File;
use std::sync::Mutex;

use clap::ValueEnum;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::prelude::*;

/// Format of the lines of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Minimum level of the events that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Failures.
    Error,
    /// Also log problems that an operator should look at
    Warn,
    /// Also log occasional events, such as reloaded certificates
    Info,
    /// Also log details of requests, for debugging
    Debug,
    /// Everything.
    Trace,
}

impl From<LogLevel> for Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Level::ERROR,
            LogLevel::Warn => Level::WARN,
            LogLevel::Info => Level::INFO,
            LogLevel::Debug => Level::DEBUG,
            LogLevel::Trace => Level::TRACE,
        }
    }
}

/// Starts logging for a command other than `serve`: only warnings about the store that it opens.
pub fn start_for_commands() {
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).without_time();
    let targets = Targets::new().with_target("lazuli_store", Level::WARN);
    tracing_subscriber::registry().with(layer.with_target(false).with_filter(targets)).init();
}

/// Starts logging, to a file if there is one.
pub fn start(format: LogFormat, level: LogLevel, file: Option<File>) {
    let level = Level::from(level);
    let writer = match file {
        Some(file) => BoxMakeWriter::new(Mutex::new(file)),
        None => BoxMakeWriter::new(std::io::stderr),
    };
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false);
    // A failed write to standard error cannot be reported there.
    let layer = layer.log_internal_errors(false);
    let layer = match format {
        LogFormat::Text => layer.with_target(false).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    // The LSM tree has its own threads. Only its log contains the reason why one of them failed, for example on
    // a full disk.
    let targets = ["fjall", "lsm_tree"]
        .into_iter()
        .fold(Targets::new().with_default(level), |targets, name| targets.with_target(name, Level::ERROR));
    tracing_subscriber::registry().with(layer.with_filter(targets)).init();
}
