//! The binary `lazuli`: it selects the engine, starts the server, and contains the tools for operators.

#[macro_use]
mod say;

mod account;
mod admin;
mod allocator;
mod azurite;
mod backup;
mod bench;
mod blob;
mod cert;
mod check;
mod completions;
mod config;
mod conformance;
mod container;
mod contents;
mod csv;
mod edm;
mod engine;
mod engine_url;
mod entity;
mod events;
mod export;
mod fault;
mod health;
mod import;
mod lease;
mod location;
mod log;
mod logs;
mod memory;
mod message;
mod oauth;
mod output;
mod progress;
mod query;
mod queue;
mod records;
mod restore;
mod runtime;
mod sas;
mod secret;
mod serve;
mod state;
mod storage;
mod summary;
mod table;
mod target;
mod token;
mod trial;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// A durable, fast server that speaks the Azure Storage protocols.
///
/// Without a command, `lazuli [flags]` means `lazuli serve [flags]`.
#[derive(Parser)]
#[command(
    name = "lazuli",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  lazuli                                 blobs on port 10000, queues on 10001, tables on 10002
  lazuli table create animals            on that server, or on any other that speaks the protocol
  lazuli blob upload report.pdf files    to the container files
  lazuli azurite -l data --silent        accepts Azurite's command line and prints its ready lines
  lazuli serve --help                    flags and more examples, as for every command"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<serve::Serve>),
    Config(config::ConfigArgs),
    Health(health::Health),
    Events(events::Events),
    Account(account::Account),
    Sas(sas::Sas),
    Table(table::Table),
    Entity(entity::Entity),
    Container(container::Container),
    Blob(blob::Blob),
    Queue(queue::Queue),
    Message(message::Message),
    Query(query::Query),
    Export(export::Export),
    Import(import::Import),
    Logs(logs::Logs),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Check(check::Check),
    Engine(engine::EngineArgs),
    Conformance(conformance::Conformance),
    Bench(bench::Bench),
    Trial(trial::Trial),
    Soak(trial::Soak),
    Token(token::Token),
    Cert(cert::Cert),
    Completions(completions::Completions),
    Man(completions::Man),
}

fn main() -> ExitCode {
    let args = match azurite::translated(std::env::args_os()) {
        Ok(args) => completed(with_command(args.into_iter())),
        Err(azurite::Unserved::Help(text)) => {
            say!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(azurite::Unserved::Mistake(message)) => Err(message),
    };
    let args = match args {
        Ok(args) => args,
        Err(message) => {
            tell!("lazuli: error: {message}");
            return ExitCode::from(2);
        }
    };
    let cli = Cli::try_parse_from(args).unwrap_or_else(|error| secret::redact(error).exit());
    if !matches!(cli.command, Command::Serve(_)) {
        log::start_for_commands();
    }
    let result = match cli.command {
        Command::Serve(serve) => serve.run(),
        Command::Config(config) => config.run(&Cli::command()),
        Command::Health(health) => health.run(&Cli::command()),
        Command::Events(events) => events.run(&Cli::command()),
        Command::Account(account) => account.run(&Cli::command()),
        Command::Sas(sas) => sas.run(),
        Command::Table(table) => table.run(),
        Command::Entity(entity) => entity.run(),
        Command::Container(container) => container.run(),
        Command::Blob(blob) => blob.run(),
        Command::Queue(queue) => queue.run(),
        Command::Message(message) => message.run(),
        Command::Query(query) => query.run(),
        Command::Export(export) => export.run(),
        Command::Import(import) => import.run(),
        Command::Logs(logs) => logs.run(),
        Command::Backup(backup) => backup.run(&Cli::command()),
        Command::Restore(restore) => restore.run(),
        Command::Check(check) => check.run(&Cli::command()),
        Command::Engine(engine) => engine.run(),
        Command::Conformance(conformance) => conformance.run(),
        Command::Bench(bench) => bench.run(),
        Command::Trial(trial) => trial.run(),
        Command::Soak(soak) => soak.run(),
        Command::Token(token) => token.run(),
        Command::Cert(cert) => cert.run(),
        Command::Completions(completions) => completions.run(Cli::command()),
        Command::Man(man) => man.run(Cli::command()),
    };
    match result {
        Ok(_) if say::failed() => ExitCode::FAILURE,
        Ok(code) => code,
        Err(message) => {
            tell!("lazuli: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Adds the settings of the environment and the configuration file to `serve`.
fn completed(args: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let asks_for_help = args.iter().any(|arg| arg == "--help" || arg == "-h");
    if args.get(1).is_none_or(|command| command != "serve") || asks_for_help {
        return Ok(args);
    }
    Ok(config::complete(&Cli::command(), args, &|name| std::env::var_os(name))?.args)
}

/// Inserts `serve` before flags without a command. A word in that position is treated as a command.
fn with_command(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    let names_a_command = args
        .get(1)
        .and_then(|first| first.to_str())
        .is_some_and(|first| !first.starts_with('-') || ["--help", "-h", "--version", "-V"].contains(&first));
    if !names_a_command {
        args.insert(1, "serve".into());
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(args: &[&str]) -> Vec<OsString> {
        with_command(std::iter::once("lazuli").chain(args.iter().copied()).map(OsString::from))
    }

    #[test]
    fn bare_flags_mean_serve() {
        assert_eq!(line(&[]), ["lazuli", "serve"]);
        assert_eq!(line(&["--table-port", "0"]), ["lazuli", "serve", "--table-port", "0"]);
        assert_eq!(line(&["account", "list"]), ["lazuli", "account", "list"]);
        for command in ["--help", "help", "-V", "sas", "serve", "srve"] {
            assert_eq!(line(&[command]), ["lazuli", command]);
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        for command in Cli::command().get_subcommands() {
            assert_eq!(line(&[command.get_name()]), ["lazuli", command.get_name()]);
        }
    }

    /// Azurite's command lines work after changing one word.
    #[test]
    fn azurite_flags_are_understood() {
        for flags in [
            "-l /data --tableHost 0.0.0.0 --tablePort 10002 --silent --skipApiVersionCheck --disableTelemetry",
            "--inMemoryPersistence --loose --blobPort 10000 --queuePort 10001 --blobHost 0.0.0.0 --queueHost 0.0.0.0",
            "-s -d debug.log --extentMemoryLimit 64 --disableProductStyleUrl",
        ] {
            let args: Vec<&str> = flags.split(' ').collect();
            assert!(Cli::try_parse_from(line(&args)).is_ok(), "{flags}");
        }
    }
}
