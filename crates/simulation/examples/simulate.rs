//! Runs simulations and reports the seeds that fail.
//!
//! ```sh
//! cargo run --release -p lazuli-simulation --example simulate -- --seeds 10000 [--from 1] [--steps 20]
//! cargo run --release -p lazuli-simulation --example simulate -- --from 1 --seeds 1000000 --log sim.log
//! cargo run --release -p lazuli-simulation --example simulate -- --seed 4711      # one run, with its last events
//! ```
//!
//! With `--log`, every [`CHUNK_SEEDS`] seeds add a line to the file: the first seed, the number of seeds, events, simulated
//! seconds, milliseconds of processor time, failures. A run that was stopped resumes behind the last line whose seeds lie in
//! its range, so a long run can use the idle time of a machine bit by bit.

#![allow(clippy::print_stdout, reason = "this is the output of the program")]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::process::ExitCode;

use lazuli_simulation::{Settings, SimulationReport, run};
use rustix::time::{ClockId, clock_gettime};

/// Simulations allocate and free millions of small pieces.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often progress is printed and logged, in seeds.
const CHUNK_SEEDS: u64 = 1000;
/// Stops after this many failing seeds.
const FAILURES_MAX: u64 = 20;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn simulate(seed: u64, settings: Settings) -> std::io::Result<SimulationReport> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(run(seed, settings)))
}

/// The sums of several simulations.
#[derive(Clone, Copy, Default)]
struct Sums {
    seeds: u64,
    events: u64,
    simulated_seconds: u64,
    cpu_milliseconds: u64,
    failed: u64,
}

impl Sums {
    fn add(&mut self, other: Sums) {
        self.seeds += other.seeds;
        self.events += other.events;
        self.simulated_seconds += other.simulated_seconds;
        self.cpu_milliseconds += other.cpu_milliseconds;
        self.failed += other.failed;
    }
}

impl std::fmt::Display for Sums {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seeds, events, simulated_seconds, cpu_milliseconds, failed } = self;
        let (hours, cpu) = (simulated_seconds / 3600, *cpu_milliseconds as f64 / 1000.0);
        write!(
            out,
            "{seeds} seeds, {events} events, {hours} simulated hours, {cpu:.1} s of processor time, {failed} failed"
        )
    }
}

/// The log of a long run.
struct Log(Option<File>);

impl Log {
    /// Opens the log. Returns it, the first seed of the range that it does not contain, and the sums of those it contains.
    fn open(path: Option<&str>, from: u64, end: u64) -> Result<(Self, u64, Sums)> {
        let Some(path) = path else { return Ok((Self(None), from, Sums::default())) };
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let (mut next, mut sums) = (from, Sums::default());
        for line in std::fs::read_to_string(path)?.lines() {
            let numbers: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
            let [first, seeds, events, simulated_seconds, cpu_milliseconds, failed] = numbers[..] else {
                continue;
            };
            if (from..end).contains(&first) {
                next = next.max(first + seeds);
                sums.add(Sums { seeds, events, simulated_seconds, cpu_milliseconds, failed });
            }
        }
        Ok((Self(Some(file)), next, sums))
    }

    fn write(&mut self, line: &str) -> std::io::Result<()> {
        self.0.as_mut().map_or(Ok(()), |file| writeln!(file, "{line}"))
    }
}

/// The processor time of this process.
fn cpu_milliseconds() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}

/// Runs the seeds from `first` to `end`, which is not among them.
fn run_chunk(first: u64, end: u64, settings: Settings, log: &mut Log) -> Result<Sums> {
    let (began, mut sums, mut milliseconds) = (cpu_milliseconds(), Sums::default(), 0);
    for seed in first..end {
        let report = simulate(seed, settings)?;
        sums.seeds += 1;
        sums.events += report.events;
        milliseconds += report.milliseconds;
        if let Some(failure) = report.failure {
            let line = format!("seed {seed}: {failure}");
            println!("{line}");
            log.write(&line)?;
            sums.failed += 1;
        }
    }
    sums.simulated_seconds = milliseconds / 1000;
    sums.cpu_milliseconds = cpu_milliseconds() - began;
    let Sums { seeds, events, simulated_seconds, cpu_milliseconds, failed } = sums;
    log.write(&format!("{first} {seeds} {events} {simulated_seconds} {cpu_milliseconds} {failed}"))?;
    Ok(sums)
}

fn main() -> Result<ExitCode> {
    let (mut from, mut seeds, mut only, mut settings, mut path) = (1, 1000, None, Settings::default(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or("an option needs a value")?;
        match name.as_str() {
            "--seed" => only = Some(value.parse()?),
            "--seeds" => seeds = value.parse()?,
            "--from" => from = value.parse()?,
            "--steps" => settings.steps = value.parse()?,
            "--log" => path = Some(value),
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    if let Some(seed) = only {
        let report = simulate(seed, settings)?;
        report.lines.iter().for_each(|line| println!("{line}"));
        println!("seed {seed}: {} events, hash {:016x}, {:?}", report.events, report.hash, report.failure);
        return Ok(if report.failure.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let end = from + seeds;
    let (mut log, mut next, mut sums) = Log::open(path.as_deref(), from, end)?;
    while next < end && sums.failed < FAILURES_MAX {
        let until = end.min(next + CHUNK_SEEDS);
        sums.add(run_chunk(next, until, settings, &mut log)?);
        println!("{sums}");
        next = until;
    }
    Ok(if sums.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
