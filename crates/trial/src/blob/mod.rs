//! Trials of the Blob service.
//!
//! Concurrent clients work on a few blobs of every type, with conditions, leases and kills. There must be an order in which
//! everything they saw makes sense. This shows lost updates, stale reads, torn content, leases with two holders, appends at the
//! same offset or applied twice, page writes in spite of a sequence number, searches that miss a tag, versions and deleted
//! blobs that are lost, archived blobs that can be read, changes of protected blobs, and reads without the key.

mod client;
pub mod record;
pub mod soak;

use lazuli_model::Service;
use lazuli_probe::{Request, Response};

pub use record::{BlobCall, BlockCall, Output};

use crate::caller::TrialCaller;
use crate::linear::{self, HistoryEvent, HistorySize};
use crate::subject::Subject;
use record::page::SequenceCondition;
use record::{AppendCall, GuardedCall, Keeping, KeptCall, PageCall, TierCall};

/// Keeps what is deleted for longer than any trial, unless it is deleted permanently. Logs all requests, and enables the website.
const SETTINGS: &str = "<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete>\
    <Read>true</Read><Write>true</Write><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>\
    <DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days><AllowPermanentDelete>true</AllowPermanentDelete>\
    </DeleteRetentionPolicy><StaticWebsite><Enabled>true</Enabled></StaticWebsite></StorageServiceProperties>";

/// Counts of the events in the histories.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Operations with a response.
    pub responses: usize,
    /// Operations whose outcome is unknown.
    pub unknown: usize,
    /// Conditional writes that were applied.
    pub conditional: usize,
    /// Leases that were acquired.
    pub leases: usize,
    /// Appends under a condition on the position that were applied.
    pub appends: usize,
    /// Writes and clears of pages under a condition on the sequence number that were applied.
    pub page_writes: usize,
    /// Changes and reads under a condition on the tag that were applied.
    pub tagged: usize,
    /// Searches that found the blob.
    pub found: usize,
    /// Versions and snapshots that were read.
    pub past: usize,
    /// Restorations of what was deleted.
    pub restored: usize,
    /// Moves to another tier.
    pub moved: usize,
    /// Legal holds and policies that were set.
    pub protected: usize,
    /// Reads with a key.
    pub keyed: usize,
}

impl Seen {
    /// Adds the counts of another history.
    pub fn add(&mut self, other: Seen) {
        self.responses += other.responses;
        self.unknown += other.unknown;
        self.conditional += other.conditional;
        self.leases += other.leases;
        self.appends += other.appends;
        self.page_writes += other.page_writes;
        self.tagged += other.tagged;
        self.found += other.found;
        self.past += other.past;
        self.restored += other.restored;
        self.moved += other.moved;
        self.protected += other.protected;
        self.keyed += other.keyed;
    }

    /// Histories in which nothing happens have an order too, but prove nothing.
    pub fn shows_something(&self, shape: HistorySize) -> Result<(), String> {
        match self {
            Seen { conditional: 0, .. } => Err("no conditional write was ever applied".into()),
            Seen { leases: 0, .. } => Err("no lease was ever acquired".into()),
            Seen { appends: 0, .. } => Err("nothing was ever appended under a condition".into()),
            Seen { page_writes: 0, .. } => Err("no page was ever written under a condition".into()),
            Seen { tagged: 0, .. } => Err("no condition on a tag was ever met".into()),
            Seen { found: 0, .. } => Err("no search ever found the blob".into()),
            Seen { past: 0, .. } => Err("no version or snapshot was ever read".into()),
            Seen { restored: 0, .. } => Err("nothing that was deleted was ever restored".into()),
            Seen { moved: 0, .. } => Err("no blob ever moved to another tier".into()),
            Seen { protected: 0, .. } => Err("no hold or policy was ever set".into()),
            Seen { keyed: 0, .. } => Err("nothing was ever read with a key".into()),
            Seen { unknown: 0, .. } if shape.kill => Err("no kill ever interrupted a change".into()),
            _ => Ok(()),
        }
    }
}

/// Records one history of this seed in a container of its own, and checks it. An error names the seed.
pub async fn run(subject: &mut impl Subject, seed: u64, shape: HistorySize) -> Result<Seen, String> {
    let container = format!("history{seed:x}");
    create(subject, &container).await?;
    let client = |recorder| client::Client::new(container.clone(), recorder);
    let events = linear::run(subject, Service::Blob, seed, shape, client).await?;
    Ok(seen(&events))
}

async fn create(subject: &impl Subject, container: &str) -> Result<(), String> {
    let mut caller = TrialCaller::new(Service::Blob, &subject.authority(Service::Blob));
    for request in preparations(&caller, container) {
        let response = caller.send(request).await?;
        if !is_prepared(&response) {
            return Err(format!("the container was not created: {} {}", response.status, response.text()));
        }
    }
    Ok(())
}

/// The requests that create a container in every account, and let two of the accounts keep what is deleted.
fn preparations(caller: &TrialCaller, container: &str) -> Vec<Request> {
    let path = format!("/{container}?restype=container");
    let mut requests = vec![caller.request("PUT", &path)];
    for account in Keeping::ALL.map(Keeping::account) {
        requests.push(caller.request_in(account, "PUT", &path));
        let properties = caller.request_in(account, "PUT", "/?restype=service&comp=properties");
        requests.push(properties.with("Content-Type", "application/xml").body(SETTINGS));
    }
    requests
}

/// Is this the response to a preparation that was done now or before?
fn is_prepared(response: &Response) -> bool {
    matches!(response.status, 201 | 202 | 409)
}

fn seen(events: &[HistoryEvent<BlobCall>]) -> Seen {
    let mut seen = Seen::default();
    for event in events {
        let Some(output) = &event.output else {
            seen.unknown += 1;
            continue;
        };
        seen.responses += 1;
        if *output == Output::Rejected {
            continue;
        }
        match &event.operation {
            BlobCall::Block(call) => {
                seen.conditional += usize::from(call.is_conditional());
                seen.leases += usize::from(matches!(call, BlockCall::Acquire { .. }));
            }
            BlobCall::Append(AppendCall::Append { position: Some(_), .. }) => seen.appends += 1,
            BlobCall::Page(PageCall::Write { sequence, .. }) => {
                seen.page_writes += usize::from(*sequence != SequenceCondition::None);
            }
            BlobCall::Tag(call) => {
                seen.tagged += usize::from(call.demands_tag() && *output != Output::Value(None));
                seen.found += usize::from(*output == Output::Found(true));
            }
            BlobCall::Kept(_, call) => {
                let is_past = matches!(call, KeptCall::GetPast { .. }) && *output != Output::Value(None);
                seen.past += usize::from(is_past);
                seen.restored += usize::from(*call == KeptCall::Undelete);
            }
            BlobCall::Tier(call) => seen.moved += usize::from(matches!(call, TierCall::SetTier { .. })),
            BlobCall::Guarded(call) => {
                let is_set = matches!(call, GuardedCall::SetHold(true) | GuardedCall::SetPolicy(true));
                seen.protected += usize::from(is_set);
                let is_keyed = matches!(call, GuardedCall::Get { has_key: true });
                seen.keyed += usize::from(is_keyed && *output != Output::Value(None));
            }
            BlobCall::Append(_) | BlobCall::Page(_) => {}
        }
    }
    seen
}
