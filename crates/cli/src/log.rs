//! Where the log goes and how it looks: standard error, one line an event.

use clap::ValueEnum;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Starts logging for a command that opens a store but does not serve: what its opening has to tell, and nothing else.
pub fn start_for_commands() {
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).without_time();
    let targets = Targets::new().with_target("lazuli_store", Level::WARN);
    tracing_subscriber::registry().with(layer.with_target(false).with_filter(targets)).init();
}

/// Starts logging.
pub fn start(format: LogFormat, quiet: bool) {
    let level = if quiet { Level::ERROR } else { Level::INFO };
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // What cannot be written to standard error cannot be complained of there.
    let layer = layer.log_internal_errors(false);
    let layer = match format {
        LogFormat::Text => layer.with_target(false).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    // The sorted store has threads of its own: why one of them failed, for instance on a full disk, only it can tell.
    let targets = ["fjall", "lsm_tree"]
        .into_iter()
        .fold(Targets::new().with_default(level), |targets, name| targets.with_target(name, Level::ERROR));
    tracing_subscriber::registry().with(layer.with_filter(targets)).init();
}
