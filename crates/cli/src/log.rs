//! Where the log goes and how it looks: standard error, one line an event.

use clap::ValueEnum;
use tracing::Level;

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Starts logging.
pub fn start(format: LogFormat, quiet: bool) {
    let level = if quiet { Level::ERROR } else { Level::INFO };
    let builder =
        tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(false);
    match format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
