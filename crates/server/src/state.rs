//! The state that all listeners share: the service, accounts, settings, counters and permits.

use std::sync::Arc;

use lazuli_engine::{Engine, SharedState};
use lazuli_model::Failure;
use lazuli_model::blob::limits::UNCOMMITTED_BLOCKS_MAX;
use lazuli_protocol::ApiVersion;
use lazuli_protocol::http::response::Context;
use lazuli_protocol::http::url::Base;
use lazuli_service::blob::{BlobOptions, Blobs};
use lazuli_service::{Options, Services};
use tokio::sync::Semaphore;

use crate::accounts::Directory;
use crate::analytics::Analytics;
use crate::blob::Background;
use crate::clock::Stopwatch;
use crate::config::Config;
use crate::entropy::{Ids, random};
use crate::events;
use crate::health::Health;
use crate::http::Budget;
use crate::metrics::ServerMetrics;
use crate::oauth::Oauth;
use crate::outbound::Outbound;
use crate::throttle::Throttle;

/// Maximum number of concurrent changes of the catalog and of settings, including those that outlive their request's timeout.
const CHANGES_MAX: usize = 256;

/// A copy of a blob up to this size is complete when its response is sent.
const COPY_AT_ONCE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The state that all listeners share.
pub struct State {
    pub(crate) service: Arc<Services>,
    /// The Blob service, if the engine stores content.
    pub(crate) blobs: Option<Blobs>,
    pub(crate) directory: Directory,
    pub(crate) config: Config,
    pub(crate) ids: Ids,
    pub(crate) metrics: ServerMetrics,
    pub(crate) analytics: Analytics,
    pub(crate) oauth: Option<Arc<Oauth>>,
    /// Sends requests to the servers that blobs may be copied from.
    pub(crate) copy_sources: Arc<Outbound>,
    pub(crate) throttle: Throttle,
    /// The memory for responses that are being built.
    pub(crate) building: Budget,
    /// Permits for large responses that are being encoded.
    pub(crate) encodings: Arc<Semaphore>,
    /// Permits for catalog changes, which may outlive their request's timeout.
    pub(crate) changes: Arc<Semaphore>,
    pub(crate) watch: Stopwatch,
    pub(crate) health: Health,
}

impl State {
    /// The state of a server over a service.
    pub fn new(service: Services, directory: Directory, config: Config) -> std::io::Result<Self> {
        let ids = Ids::new()?;
        Ok(Self::with_entropy(service, directory, config, move || random().unwrap_or_else(|_| ids.next().0)))
    }

    /// Like `new`, with a source of random bytes chosen by the caller. A simulation repeats a run by repeating
    /// the bytes.
    pub fn with_entropy(
        service: Services,
        directory: Directory,
        config: Config,
        entropy: impl Fn() -> [u8; 16] + Send + Sync + 'static,
    ) -> Self {
        let service = Arc::new(service);
        let engine = service.engine().clone();
        let ids = Ids::from_bytes(entropy());
        let copy_sources = Arc::new(Outbound::new(config.copy_sources.clone(), config.limits.body_time_max));
        let blobs = service.engine().content().map(|content| {
            let options = BlobOptions {
                entropy: Arc::new(entropy),
                versions: config.blob.versioning.clone(),
                last_access: config.blob.last_access.clone(),
                container_days: config.blob.container_retention_days,
                rehydration: config.blob.rehydration,
                copy_at_once_max: COPY_AT_ONCE_BYTES_MAX,
                uncommitted_blocks_max: UNCOMMITTED_BLOCKS_MAX,
                fetch: Some(Arc::new(Background(copy_sources.clone()))),
                events: events::ordered(&config.events).iter().map(events::Route::accounts).collect(),
            };
            Blobs::new(service.clone(), content, options)
        });
        Self {
            service,
            blobs,
            directory,
            ids,
            metrics: ServerMetrics::default(),
            analytics: Analytics::default(),
            oauth: None,
            copy_sources,
            throttle: Throttle::new(config.rates),
            building: Budget::new(config.limits.bodies_bytes_max),
            encodings: Arc::new(Semaphore::new(config.limits.encodings_max())),
            changes: Arc::new(Semaphore::new(CHANGES_MAX)),
            watch: Stopwatch::start(),
            health: Health::new(engine, config.limits.health_time_max),
            config,
        }
    }

    /// The state of a server over an engine, with the service between them.
    pub fn over(engine: Arc<dyn Engine>, directory: Directory, config: Config) -> std::io::Result<Self> {
        let watch = Stopwatch::start();
        let options = Options {
            clock: config.clock.clone(),
            elapsed: Arc::new(move || watch.elapsed()),
            query_time_max: config.query_time_max,
            name_hold: config.name_hold,
            secret: random()?,
        };
        Self::new(Services::new(engine, options), directory, config)
    }

    /// The state with bearer tokens enabled.
    pub fn with_oauth(self, oauth: Option<Arc<Oauth>>) -> Self {
        Self { oauth, ..self }
    }

    /// The service behind the listeners.
    pub fn service(&self) -> &Services {
        &self.service
    }

    /// The Blob service, if the engine stores content.
    pub fn blobs(&self) -> Option<&Blobs> {
        self.blobs.as_ref()
    }

    /// Where the records of an account are.
    pub(crate) fn home(&self, account: &str) -> String {
        self.directory.home(account).map_or_else(|| account.to_owned(), |home| home.as_ref().to_owned())
    }

    /// The server's counters.
    pub fn metrics(&self) -> &ServerMetrics {
        &self.metrics
    }

    /// The queue of records for the logs and metrics that service properties switch on.
    pub fn analytics(&self) -> &Analytics {
        &self.analytics
    }

    /// The accounts it serves.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Picks up changes by other front ends of a shared engine, before anything is decided from cached data.
    pub(crate) async fn freshen(&self) -> Result<Option<SharedState>, Failure> {
        let logged = |error: lazuli_service::Error| {
            tracing::error!(%error, "shared engine unreachable");
            error.failure()
        };
        let state = self.service.freshen().await.map_err(logged)?;
        if let Some(SharedState { changes, .. }) = state {
            self.directory.refresh_since(changes, &self.service.accounts()).await.map_err(logged)?;
        }
        Ok(state)
    }

    /// The context of a request before anything is known about it.
    pub(crate) fn context(&self) -> Context {
        Context {
            account: String::new(),
            base: Base::default(),
            now: self.service.now(),
            request_id: String::from_utf8_lossy(&self.ids.next().text()).into_owned(),
            version: ApiVersion::NONE,
        }
    }
}
