//! Runs simulations and reports the seeds that fail.
//!
//! ```sh
//! cargo run --release -p lazuli-simulation --example simulate -- --seeds 10000 [--from 1] [--steps 20]
//! cargo run --release -p lazuli-simulation --example simulate -- --seed 4711      # one run, with its last events
//! ```

#![allow(clippy::print_stdout, reason = "this is the output of the program")]

use std::process::ExitCode;

use lazuli_simulation::{Settings, SimulationReport, run};

/// How often progress is printed, in seeds.
const PROGRESS_EVERY: u64 = 1000;
/// Stops after this many failing seeds.
const FAILURES_MAX: usize = 20;

fn simulate(seed: u64, settings: Settings) -> std::io::Result<SimulationReport> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(run(seed, settings)))
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let (mut from, mut seeds, mut only, mut settings) = (1, 1000, None, Settings::default());
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value: u64 = arguments.next().ok_or("an option needs a value")?.parse()?;
        match name.as_str() {
            "--seed" => only = Some(value),
            "--seeds" => seeds = value,
            "--from" => from = value,
            "--steps" => settings.steps = u32::try_from(value)?,
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    if let Some(seed) = only {
        let report = simulate(seed, settings)?;
        report.lines.iter().for_each(|line| println!("{line}"));
        println!("seed {seed}: {} events, hash {:016x}, {:?}", report.events, report.hash, report.failure);
        return Ok(if report.failure.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let (mut failed, mut events, mut milliseconds) = (Vec::new(), 0, 0);
    for seed in from..from + seeds {
        let report = simulate(seed, settings)?;
        events += report.events;
        milliseconds += report.milliseconds;
        if let Some(failure) = report.failure {
            println!("seed {seed}: {failure}");
            failed.push(seed);
        }
        let done = seed - from + 1;
        if done.is_multiple_of(PROGRESS_EVERY) || done == seeds || failed.len() >= FAILURES_MAX {
            let hours = milliseconds / 3_600_000;
            println!("{done} seeds, {events} events, {hours} simulated hours, {} failed", failed.len());
        }
        if failed.len() >= FAILURES_MAX {
            break;
        }
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
