//! Checks a server: `check SERVICE ENDPOINT ACCOUNT KEY [@HOST:PORT] [FILTER] [-GROUP…] [--json]`.

// It is a program for a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints what it found")]

use std::process::ExitCode;

use lazuli_conformance::{Options, Target, run};
use lazuli_model::Service;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [service, endpoint, account, key, rest @ ..] = &arguments[..] else {
        eprintln!("check SERVICE ENDPOINT ACCOUNT KEY [@HOST:PORT] [FILTER] [-GROUP…] [--json]");
        return ExitCode::from(2);
    };
    let target = match Target::new(endpoint, account, key) {
        Ok(target) => target,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let Some(service) = Service::ALL.into_iter().find(|known| known.label() == service) else {
        eprintln!("expected table, queue or blob");
        return ExitCode::from(2);
    };
    let mut options = Options::new(target.with_service(service));
    for argument in rest.iter().filter(|argument| *argument != "--json") {
        match (argument.strip_prefix('-'), argument.strip_prefix('@')) {
            (Some(group), _) => options.exclude_groups.push(group.to_owned()),
            (_, Some(address)) => options.target.connect = Some(address.to_owned()),
            _ => options.filter = Some(argument.clone()),
        }
    }
    let report = run(&options);
    let json = rest.iter().any(|argument| argument == "--json");
    print!("{}", if json { report.json() } else { report.table() });
    if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
