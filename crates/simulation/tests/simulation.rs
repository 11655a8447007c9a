//! The short form of the simulation: some seeds, and the proof that a seed repeats its run.

use lazuli_simulation::{Settings, SimulationReport, run};

/// Seeds of the short form.
const SEEDS: u64 = 24;

fn simulate(seed: u64) -> SimulationReport {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime of one thread").block_on(run(seed, Settings::default()))
}

/// A failing seed is useful only if it fails again.
#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [1, 2, 3, 4] {
        let (first, second) = (simulate(seed), simulate(seed));
        assert_eq!(first.lines, second.lines, "seed {seed}");
        assert_eq!((first.events, first.hash), (second.events, second.hash), "seed {seed}");
    }
    assert_ne!(simulate(1).hash, simulate(2).hash);
}

#[test]
fn no_seed_breaks_a_promise() {
    for seed in 1000..1000 + SEEDS {
        let report = simulate(seed);
        let lines = report.lines.join("\n");
        assert_eq!(report.failure, None, "seed {seed}; the last events were:\n{lines}");
        assert!(report.events > 200, "seed {seed} did almost nothing: {} events", report.events);
    }
}
