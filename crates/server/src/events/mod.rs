//! Delivers the events of blobs to a queue of the same account or to a webhook.
//!
//! Each target has its own task. It delivers events one at a time, so the events of a blob arrive in order, and a target that is
//! unavailable delays no other. A failed delivery is retried with growing pauses; an event is dropped when it is a day old.

mod target;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::blob::event::Event;
use lazuli_model::queue::{Operation, QueueName};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{ErrorCode, Metadata};
use lazuli_protocol::blob::event::encode;
use lazuli_service::access::Authorized;
use lazuli_service::blob::{EnabledFor, EventBatch, Events};
use lazuli_service::{Error, Grant};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

pub use target::{EventTarget, Route, Webhook, ordered, repeated};

use crate::outbound::{AllowedHost, Outbound, OutboundRequest, OutboundUrl, Problem};
use crate::state::State;

/// Pause after the first failure; it doubles with every further one.
const PAUSE_MIN: Duration = Duration::from_millis(200);
/// Longest pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How often to check for events that are scheduled for later.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Events older than this are dropped, as in Event Grid.
const AGE_TICKS_MAX: u64 = 24 * 60 * 60 * TICKS_PER_SECOND;
/// Seconds after which a message with an event expires.
const MESSAGE_SECONDS: u32 = 7 * 24 * 60 * 60;

/// Delivers the events of some accounts to one target.
pub(crate) struct Courier {
    state: Arc<State>,
    events: Events,
    accounts: EnabledFor,
    way: Way,
    /// The URL of the Blob service without an account.
    endpoint: String,
}

enum Way {
    Queue(QueueName),
    Webhook(OutboundUrl, Outbound),
}

impl Courier {
    /// A courier for each configured target.
    pub fn all(state: &Arc<State>, endpoint: &str) -> Vec<Self> {
        let Some(events) = state.blobs().and_then(|blobs| blobs.events()) else { return Vec::new() };
        let routes = ordered(&state.config.events).into_iter().enumerate();
        routes.map(|(lane, route)| Self::new(state, events.lane(lane), route, endpoint.to_owned())).collect()
    }

    fn new(state: &Arc<State>, events: Events, route: Route, endpoint: String) -> Self {
        let accounts = route.accounts();
        let way = match route.target {
            EventTarget::Queue(name) => Way::Queue(name),
            EventTarget::Webhook(Webhook(url)) => {
                let allowed = vec![AllowedHost::of(&url)];
                Way::Webhook(url, Outbound::new(allowed, state.config.limits.body_time_max))
            }
        };
        Self { state: state.clone(), events, accounts, way, endpoint }
    }

    /// Delivers events until `stop` turns true.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            () = self.work() => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }

    async fn work(&self) {
        let mut pause = PAUSE_MIN;
        loop {
            let done = match self.events.next().await {
                Ok(Some(batch)) => self.deliver(batch).await,
                Ok(None) => {
                    let _ = timeout(LOOK_EVERY, self.events.wait()).await;
                    continue;
                }
                Err(error) => Err(error.to_string()),
            };
            match done {
                Ok(()) => pause = PAUSE_MIN,
                Err(why) => {
                    tracing::warn!(%why, waiting = self.events.waiting(), "failed to deliver an event");
                    let _ = timeout(pause, std::future::pending::<()>()).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    async fn deliver(&self, batch: EventBatch) -> Result<(), String> {
        for (count, event) in batch.events.iter().enumerate() {
            if let Err(why) = self.send(event).await {
                if let Err(error) = self.events.failed(&batch, count).await {
                    tracing::warn!(%error, count, "failed to delete the records of delivered events; the events are sent again");
                }
                return Err(why);
            }
        }
        self.events.delivered(batch).await.map_err(|error| error.to_string())
    }

    async fn send(&self, event: &Event) -> Result<(), String> {
        self.state.freshen().await.map_err(|failure| failure.message.into_owned())?;
        let directory = self.state.directory();
        let is_home = |account: &String| directory.home(account).is_some_and(|home| *home == *event.home);
        let Some(account) = directory.names().into_iter().find(is_home) else {
            tracing::info!(
                container = event.container,
                "dropped an event of an account that no longer exists"
            );
            return Ok(());
        };
        if !self.accounts.applies_to(&account) {
            tracing::warn!(
                account,
                container = event.container,
                "dropped an event of an account without a target"
            );
            return Ok(());
        }
        let encoded = encode(event, &account, &format!("{}/{account}", self.endpoint));
        let sent = match &self.way {
            Way::Queue(name) => self.put_message(name, event, &encoded).await,
            Way::Webhook(url, outbound) => post(outbound, url, &encoded).await,
        };
        let age = self.state.service.now().ticks().saturating_sub(event.time.ticks());
        if let (Err(why), true) = (&sent, age > AGE_TICKS_MAX) {
            tracing::error!(%why, container = event.container, blob = event.blob, "dropped an event that could not be delivered");
            return Ok(());
        }
        sent
    }

    async fn put_message(&self, name: &QueueName, event: &Event, encoded: &Value) -> Result<(), String> {
        let grant = Grant::everything(event.home.as_str());
        let put = || Operation::PutMessage {
            queue: name.clone(),
            text: STANDARD.encode(encoded.to_string()).into(),
            visibility: 0,
            ttl: Some(MESSAGE_SECONDS),
        };
        let service = &self.state.service;
        let execute = async |operation| service.execute_queue(Authorized::new(&grant, operation)?).await;
        match execute(put()).await {
            Err(Error::Rejected(failure)) if failure.code == ErrorCode::QueueNotFound => {}
            done => return done.map(drop).map_err(|error| error.to_string()),
        }
        let create = Authorized::new(&grant, Operation::CreateQueue(name.clone(), Metadata::default()));
        let create = create.map_err(|failure| failure.message.into_owned())?.detach();
        let own = service.clone();
        let work = async move { own.execute_queue_detached(create).await };
        self.state.detached(work).await.map_err(|error| error.to_string())?;
        execute(put()).await.map(drop).map_err(|error| error.to_string())
    }
}

async fn post(outbound: &Outbound, url: &OutboundUrl, encoded: &Value) -> Result<(), String> {
    let fields = vec![
        ("Content-Type", "application/json; charset=utf-8".to_owned()),
        ("aeg-event-type", "Notification".to_owned()),
    ];
    let body = json!([encoded]).to_string().into();
    let request = OutboundRequest { method: "POST", fields, body };
    match outbound.send(url, &request).await {
        Ok(response) if (200..300).contains(&response.status) => Ok(()),
        Ok(response) => Err(format!("the webhook responded with status {}", response.status)),
        Err(Problem::Failed(error)) => Err(format!("the webhook cannot be reached: {error}")),
        Err(Problem::NotAllowed) => Err("the webhook has an address that is not allowed".into()),
        Err(Problem::Busy) => Err("too many requests are in progress".into()),
    }
}
