//! A server without sockets: the endpoints, the admin calls and the background work of a real one, over the simulated engine.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::Engine;
use lazuli_model::Service;
use lazuli_server::admin::Admin;
use lazuli_server::config::EnabledFor;
use lazuli_server::{Config, Directory, Endpoint, State};
use lazuli_service::Options;

use crate::actors::KEPT;
use crate::engine::Line;
use crate::rng::SharedRng;
use crate::time::pass;
use crate::world::World;

/// The longest pause between two rounds of each kind of background work, in milliseconds. Every pause is
/// derived from the seed.
const PAUSE_MAX: u64 = 20_000;
/// Time after which a query returns the rows found so far.
const QUERY_TIME_MAX: Duration = Duration::from_secs(5);

/// A server that runs.
pub struct Front {
    endpoints: [Endpoint; Service::ALL.len()],
    /// Its admin calls.
    pub admin: Admin,
    line: Line,
}

impl Front {
    /// Starts a server. It fails if the engine fails while it starts.
    pub async fn start(world: &World) -> Result<Self, String> {
        let handle = world.core.open();
        let line = handle.line();
        let engine: Arc<dyn Engine> = Arc::new(handle);
        let time = world.time;
        let skew = world.draw_skew();
        let options = Options {
            clock: time.skewed_clock(skew),
            elapsed: Arc::new(move || Duration::from_millis(time.milliseconds())),
            query_time_max: QUERY_TIME_MAX,
            name_hold: Duration::ZERO,
            secret: world.rng.bytes(),
        };
        let rng = world.rng.clone();
        let service = lazuli_service::Services::new(engine, options);
        // No server listens at the address.
        let mut config = Config::new((Ipv4Addr::LOCALHOST, 0).into());
        config.blob.versioning = EnabledFor::Accounts(vec![KEPT.into()]);
        let state = State::with_entropy(service, Directory::new(Vec::new()), config, move || rng.bytes());
        let state = Arc::new(state);
        let accounts = state.service().accounts();
        state.directory().refresh(&accounts).await.map_err(|error| error.to_string())?;
        let admin = Admin::new(state.clone()).map_err(|error| error.to_string())?;
        keep_sweeping(&state, &line, &world.rng);
        let endpoints = Service::ALL.map(|service| Endpoint::new(state.clone(), service));
        Ok(Self { endpoints, admin, line })
    }

    /// The endpoint of a service.
    pub fn endpoint(&self, service: Service) -> &Endpoint {
        &self.endpoints[service.index()]
    }

    /// Crashes the server: its work stops at its next call of the engine.
    pub fn crash(&self) {
        self.line.cut();
    }
}

/// The background work of a server. It ends with the simulation, or hangs when the server has crashed.
fn keep_sweeping(state: &Arc<State>, line: &Line, rng: &SharedRng) {
    let mut sweep = state.service().sweep();
    if let Some(blobs) = state.blobs() {
        sweep = sweep.with_release(Arc::new(blobs.clone()));
        let (mut reclaim, mut copies) = (blobs.reclaim(), blobs.copies());
        let (held, pauses) = (line.clone(), rng.clone());
        tokio::spawn(async move {
            loop {
                held.hold().await;
                // A failed round is repeated; only the garbage left at the end counts.
                let _ = reclaim.round().await;
                pass(1 + pauses.below(PAUSE_MAX)).await;
            }
        });
        let (held, pauses) = (line.clone(), rng.clone());
        tokio::spawn(async move {
            loop {
                held.hold().await;
                let _ = copies.round().await;
                pass(1 + pauses.below(PAUSE_MAX)).await;
            }
        });
    }
    let (held, pauses) = (line.clone(), rng.clone());
    tokio::spawn(async move {
        loop {
            held.hold().await;
            let _ = sweep.round().await;
            pass(1 + pauses.below(PAUSE_MAX)).await;
        }
    });
}
