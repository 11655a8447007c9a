//! One simulation: from a seed to a report.

use std::future::Future;
use std::sync::Arc;

use lazuli_engine::content::Auditor;
use lazuli_engine::{Engine as _, Stored};
use lazuli_service::inspect::Inspector;
use lazuli_service::naming;

use crate::actors::{self, KEPT, STEADY};
use crate::engine::{Core, Faults};
use crate::rng::SharedRng;
use crate::time::{Time, pass};
use crate::trace::Trace;
use crate::world::World;

/// Number of accounts that are repeatedly created and removed.
const CHURNING: [&str; 2] = ["churna", "churnb"];
/// Number of clients of rows, of blobs, and of each of these accounts.
const CLIENTS: usize = 3;
/// Clients of scans, of leases, of snapshots and copies, of append and page blobs, and of versions.
const CLIENTS_FEW: usize = 2;
/// Time for background work to finish after the last fault, in milliseconds.
const CALM_TIME: u64 = 300_000;
/// Bytes of rows that are checked at a time.
const PAGE_BYTES: usize = 1024 * 1024;
/// Attempts to read something after the time of faults.
const READS_MAX: usize = 5;

/// The length of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Steps of each client.
    pub steps: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { steps: 20 }
    }
}

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationReport {
    /// The seed.
    pub seed: u64,
    /// Number of servers that shared the engine.
    pub servers: usize,
    /// Number of events, and their hash: two runs with the same hash are identical.
    pub events: u64,
    /// See `events`.
    pub hash: u64,
    /// Simulated time in milliseconds.
    pub milliseconds: u64,
    /// The first failure, if there is one.
    pub failure: Option<String>,
    /// The last events.
    pub lines: Vec<String>,
}

/// Runs a simulation. Requires a single-threaded runtime whose clock is paused.
pub async fn run(seed: u64, settings: Settings) -> SimulationReport {
    let rng = SharedRng::new(seed);
    let time = Time::start();
    let trace = Trace::new(time);
    let servers = if rng.chance(500) { 1 } else { 2 + rng.below(2) as usize };
    let faults = Faults {
        slow: rng.below(100),
        stall: if rng.chance(500) { rng.below(5) } else { 0 },
        unavailable: if rng.chance(500) { rng.below(10) } else { 0 },
        lost: if rng.chance(500) { rng.below(8) } else { 0 },
    };
    let core = Arc::new(Core::new(servers > 1, faults, rng.clone(), time));
    let world = Arc::new(World::new(rng, trace, time, core, servers));
    let skew = world.skew_max;
    world.trace.note(format_args!("seed {seed}, {servers} servers, {faults:?}, clocks differ by {skew} ms"));
    for number in 0..servers {
        actors::start(&world, number).await;
    }
    play(&world, settings.steps).await;
    world.calm_down();
    for number in 0..servers {
        actors::restart(&world, number, 0).await;
    }
    pass(CALM_TIME).await;
    check_all(&world).await;
    check_rows(&world).await;
    let (events, hash) = world.trace.summary();
    let milliseconds = time.milliseconds();
    let (failure, lines) = (world.trace.failure(), world.trace.lines());
    SimulationReport { seed, servers, events, hash, milliseconds, failure, lines }
}

/// Runs all clients and administrators until they are done.
async fn play(world: &Arc<World>, steps: u32) {
    let crashes = tokio::spawn(actors::crash_and_restart(Arc::clone(world)));
    let mut actors = Vec::new();
    for account in [STEADY, KEPT] {
        actors.push(spawn(actors::administer(Arc::clone(world), account, steps / 2, false)));
    }
    for account in CHURNING {
        actors.push(spawn(actors::administer(Arc::clone(world), account, steps, true)));
        for client in 0..CLIENTS {
            actors.push(spawn(actors::create_and_delete(Arc::clone(world), client, account, steps)));
        }
    }
    for client in 0..CLIENTS {
        actors.push(spawn(actors::use_rows(Arc::clone(world), client, CLIENTS, steps)));
        actors.push(spawn(actors::use_blobs(Arc::clone(world), client, CLIENTS, steps)));
        actors.push(spawn(actors::use_queue(Arc::clone(world), steps)));
    }
    // These are rarer, to keep runs short; every combination of kinds occurs in some runs.
    actors.push(spawn(actors::change_policy(Arc::clone(world), steps / 2)));
    actors.push(spawn(actors::use_policy(Arc::clone(world), steps / 2)));
    for client in 0..CLIENTS_FEW {
        actors.push(spawn(actors::use_scans(Arc::clone(world), client, CLIENTS_FEW, steps)));
        actors.push(spawn(actors::use_lease(Arc::clone(world), steps / 2)));
        actors.push(spawn(actors::use_derived(Arc::clone(world), client, CLIENTS, steps)));
        actors.push(spawn(actors::use_appends(Arc::clone(world), steps / 2)));
        actors.push(spawn(actors::use_pages(Arc::clone(world), client, CLIENTS_FEW, steps / 2)));
        actors.push(spawn(actors::use_kept(Arc::clone(world), client, CLIENTS_FEW, steps)));
    }
    for actor in actors {
        if let Err(error) = actor.await {
            world.trace.fail(format!("a client panicked: {error}"));
        }
    }
    crashes.abort();
}

fn spawn(actor: impl Future<Output = ()> + Send + 'static) -> tokio::task::JoinHandle<()> {
    tokio::spawn(actor)
}

/// Reads everything after the time of faults.
async fn check_all(world: &World) {
    for client in 0..CLIENTS {
        let mut is_read = false;
        for _ in 0..READS_MAX {
            is_read |= actors::read_pair(world, client).await.is_some();
        }
        let mut is_blob_read = false;
        for _ in 0..READS_MAX {
            is_blob_read |= actors::read_blob(world, client).await.is_some();
        }
        if !(is_read && is_blob_read) {
            world.trace.fail("a server without faults does not respond".into());
        }
    }
    let (mut are_appends_read, mut are_pages_read) = (false, false);
    for _ in 0..READS_MAX {
        are_appends_read |= actors::read_appends(world).await.is_some();
        are_pages_read |= actors::read_pages(world, CLIENTS_FEW).await.is_some();
    }
    let mut are_versions_listed = true;
    for client in 0..CLIENTS_FEW {
        are_versions_listed &= actors::check_kept(world, client).await;
    }
    if !(are_appends_read && are_pages_read && are_versions_listed) {
        world.trace.fail("a server without faults does not show append blobs, pages or versions".into());
    }
    actors::drain(world).await;
}

/// Checks every row and every piece of content, as `lazuli check` does.
async fn check_rows(world: &World) {
    if let Err(error) = check_engine(world).await {
        world.trace.fail(format!("the engine cannot be checked: {error}"));
    }
}

async fn check_engine(world: &World) -> lazuli_engine::Result<()> {
    let mut dump = world.core.memory().dump().await?;
    let content = world.core.stored_content();
    let (mut inspector, mut naming) = (Inspector::new(dump.marks()), naming());
    let mut auditor = Auditor::new(&content);
    loop {
        let rows = dump.next(PAGE_BYTES).await?;
        if rows.is_empty() {
            break;
        }
        for Stored { table, row } in &rows {
            inspector.see(*table, row.view());
            let mut pieces = Vec::new();
            naming.pieces(*table, row.view(), &mut |piece, is_certain| pieces.push((piece, is_certain)))?;
            for (piece, is_certain) in pieces {
                if let Err(damage) = auditor.check(&piece, is_certain).await? {
                    world.trace.fail(format!("content is lost: {damage}"));
                }
            }
        }
    }
    for example in inspector.finish().examples {
        world.trace.fail(format!("a row is wrong: {example}"));
    }
    let dead = auditor.finish().await?.dead;
    // Several servers wait for hours before they free what another one may be reading.
    if dead > 0 && !world.core.is_shared {
        world.trace.fail(format!("{dead} bytes of content are stored that no row names"));
    }
    Ok(())
}
