//! The cost of a rejected request: bytes written, memory and work, for every kind of rejection, with and without a valid key, by
//! every service.
//!
//! A client that is rejected can try again at once, so a rejection must be cheap. `bounds.txt` has a line for each kind and
//! service: the response, the allocations and the bytes that it takes. The test fails when one of them grows, when a file of the
//! store changes, or when memory is kept. A time would depend on the machine, so the number of allocations stands for the work.
//!
//! A failure prints the lines as they were measured. Replace a line only with a reason:
//!
//! ```sh
//! cargo test -p lazuli-server --test rejections -- --nocapture
//! ```
//!
//! A process of its own with one test, because it counts every allocation of the process.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]
#![allow(clippy::print_stdout, reason = "this is the report")]

mod bounds;
mod kinds;
mod requests;
mod world;

use std::alloc::System;

use lazuli_model::Service;
use stats_alloc::{Stats, StatsAlloc};

use bounds::{Bounds, Cost};
use kinds::{FAILED_TOO_OFTEN, Kind, WITH_KEY, WITHOUT_KEY};
use world::{Wire, World};

/// Counts what is allocated, by everyone in this process. The client allocates nothing while it is counted.
#[global_allocator]
static ALLOCATOR: StatsAlloc<System> = StatsAlloc::system();

/// Requests that are counted together. The work after a response may fall into the next request, but not much further.
const ROUND: usize = 5;
/// Rounds that are counted. The cheapest one counts: other work in the process can only add to a round.
const ROUNDS: usize = 3;
/// Rounds that do not count: the first ones fill caches and buffers.
const WARM_UP: usize = 1;
/// Rounds that may be repeated, because a response was another one: a rate limit recovers in between.
const REPEATED_MAX: usize = 100;
/// Attempts until a kind is found to cost too much. The process also does other things: the store writes in the background, buffers
/// grow, and the last connection of a round may still be closing.
const ATTEMPTS: usize = 5;
/// Memory that may be kept after all rounds, besides that of [`KEPT_REQUESTS_MAX`] requests.
const KEPT_BYTES_MAX: usize = 16 * 1024;
const KEPT_REQUESTS_MAX: usize = 3;

/// Sends a round of requests. Returns what one of them costs, or nothing if the responses differ from each other.
fn round(wire: &mut Wire, kind: &Kind, service: Service, requests: &[Vec<u8>]) -> Option<Cost> {
    (kind.prepare)(wire, service);
    let status = wire.exchange(&requests[0]);
    let (before, mut sent, mut is_same) = (ALLOCATOR.stats(), 0, true);
    for request in &requests[1..] {
        is_same &= wire.exchange(request) == status;
        sent += 1;
    }
    let used = ALLOCATOR.stats() - before;
    is_same.then(|| Cost {
        status,
        code: wire.code(),
        response: wire.response_bytes(),
        allocations: (used.allocations + used.reallocations) / sent,
        bytes: used.bytes_allocated / sent,
    })
}

fn live(stats: &Stats) -> usize {
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Measures the cost of a rejection of this kind, and the memory that is kept after all of them.
fn measure(wire: &mut Wire, kind: &Kind, service: Service) -> (Cost, usize) {
    let make = |first: usize| -> Vec<Vec<u8>> {
        (first..=first + ROUND).map(|number| (kind.make)(service, number)).collect()
    };
    let (mut costs, mut before, mut repeated) = (Vec::with_capacity(ROUNDS), 0, 0);
    for number in 0.. {
        let requests = make(100 * (1 + number));
        let Some(cost) = round(wire, kind, service, &requests) else {
            repeated += 1;
            assert!(repeated <= REPEATED_MAX, "{}, {service:?}: {}", kind.name, wire.text());
            continue;
        };
        drop(requests);
        if number < WARM_UP + repeated {
            before = live(&ALLOCATOR.stats());
            continue;
        }
        costs.push(cost);
        if costs.len() == ROUNDS {
            break;
        }
    }
    let kept = live(&ALLOCATOR.stats()).saturating_sub(before);
    (costs.into_iter().min_by_key(|cost| (cost.allocations, cost.bytes)).unwrap(), kept)
}

/// Measures a kind, and says what is wrong with it.
fn examine(world: &World, kind: &Kind, service: Service, name: &str, bounds: &Bounds) -> (Cost, Vec<String>) {
    let mut wire = world.connect(service);
    wire.leaves_body = kind.leaves_body;
    let files = world.files();
    let (cost, kept) = measure(&mut wire, kind, service);
    let written = world.written_since(&files);
    let mut wrong = Vec::from_iter(bounds.exceeded(name, &cost));
    if !written.is_empty() {
        wrong.push(format!("{name}: files are written: {written:?}"));
    }
    if kept > KEPT_BYTES_MAX + KEPT_REQUESTS_MAX * cost.bytes {
        wrong.push(format!("{name}: {kept} bytes are kept"));
    }
    (cost, wrong)
}

#[test]
fn a_rejection_costs_no_more_than_its_bound() {
    let bounds = Bounds::read(include_str!("bounds.txt"));
    let world = World::start();
    let (mut lines, mut wrong) = (Vec::new(), Vec::new());
    for (key, kinds) in [("no key", WITHOUT_KEY), ("key", WITH_KEY), ("no key", FAILED_TOO_OFTEN)] {
        for (kind, service) in
            kinds.iter().flat_map(|kind| kind.services.iter().map(move |service| (kind, *service)))
        {
            let name = format!("{key}, {}, {}", kind.name, service.label());
            let mut attempts = (0..ATTEMPTS).map(|_| examine(&world, kind, service, &name, &bounds));
            let (mut cost, mut found) = attempts.next().unwrap();
            while !found.is_empty()
                && let Some(again) = attempts.next()
            {
                (cost, found) = again;
            }
            lines.push(cost.line(&name));
            wrong.extend(found);
        }
    }
    println!("{}", lines.join("\n"));
    wrong.extend(bounds.unused(&lines));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
