//! One client of a history of blobs: one file per type of blob, with the client's choices, requests and reads.

mod append;
mod block;
mod guarded;
mod kept;
mod page;
mod tagged;
mod tiered;

use std::collections::{BTreeMap, HashMap};

use lazuli_model::Service;
use lazuli_probe::{Request, Response};

use super::record::block::BLOBS;
use super::record::{
    AppendCall, BlobCall, BlobCondition, BlockCall, GuardedCall, Keeping, KeptCall, Output, PageCall,
    TagCall, TierCall,
};
use crate::caller::TrialCaller;
use crate::linear::{self, HistoryEvent, HistoryOperation as _, LogicalClock, Recorder};
use crate::random::Random;
use kept::PastEntry;

/// Maximum changes of a client; distinguishes the changes of clients.
const CHANGES_MAX: u32 = 1_000_000;

/// Chooses what to do, and knows how to ask for it and what the response says.
pub(crate) struct Chooser {
    container: String,
    number: usize,
    random: Random,
    changes: u32,
    /// The change and ETag that it last saw of each blob.
    known: HashMap<usize, (u32, String)>,
    /// The length of the append blob that it last saw.
    length: u64,
    /// The versions and snapshots that it knows, by the change that has left each behind, in the order of [`Keeping::ALL`].
    past: [BTreeMap<u32, PastEntry>; 2],
}

/// A client of a history.
pub struct Client {
    chooser: Chooser,
    clock: LogicalClock,
    caller: TrialCaller,
    events: Vec<HistoryEvent<BlobCall>>,
}

impl Client {
    /// A client that works in this container.
    pub fn new(container: String, recorder: Recorder) -> Self {
        let Recorder { client, authority, random, clock } = recorder;
        let caller = TrialCaller::new(Service::Blob, &authority);
        Self { chooser: Chooser::new(container, client, random), clock, caller, events: Vec::new() }
    }

    /// `false` if there was no response: the client ends.
    async fn perform(&mut self, operation: BlobCall) -> Result<bool, String> {
        let request = self.chooser.request(&self.caller, &operation);
        let start = self.clock.tick();
        let response = self.caller.send(request).await.ok();
        let end = self.clock.tick();
        // A 5xx leaves the outcome of the request open.
        let response = response.filter(|response| response.status < 500);
        let output = match &response {
            Some(response) => Some(self.chooser.output(&operation, response)?),
            None => None,
        };
        let end = if output.is_some() { end } else { u64::MAX };
        // A read without a response proves nothing.
        if output.is_some() || !operation.is_read() {
            let client = self.chooser.number;
            self.events.push(HistoryEvent { client, start, end, operation, output });
        }
        Ok(response.is_some())
    }
}

impl Chooser {
    /// Chooses for the client of this number, which works in this container.
    pub(crate) fn new(container: String, number: usize, random: Random) -> Self {
        let past = [BTreeMap::new(), BTreeMap::new()];
        Self { container, number, random, changes: 0, known: HashMap::new(), length: 0, past }
    }

    fn choose(&mut self) -> BlobCall {
        if self.random.chance(25) { BlobCall::Block(self.choose_block()) } else { self.choose_special() }
    }

    /// Something that is not about a plain block blob.
    pub(crate) fn choose_special(&mut self) -> BlobCall {
        match self.random.below(24) {
            0..5 => BlobCall::Append(self.choose_append()),
            5..9 => BlobCall::Page(self.choose_page()),
            9..13 => BlobCall::Tag(self.choose_tag()),
            13..17 => {
                let keeping = *self.random.pick(&Keeping::ALL);
                BlobCall::Kept(keeping, self.choose_kept(keeping))
            }
            17..22 => BlobCall::Guarded(self.choose_guarded()),
            _ => BlobCall::Tier(self.choose_tier()),
        }
    }

    /// A number for a change.
    fn next_number(&mut self) -> u32 {
        self.changes += 1;
        self.number as u32 * CHANGES_MAX + self.changes
    }

    /// A condition of a change that may create the blob.
    fn condition(&mut self, object: usize) -> BlobCondition {
        match (self.random.below(4), self.known.get(&object)) {
            (0 | 1, Some((number, _))) => BlobCondition::Is(*number),
            (2, _) => BlobCondition::Absent,
            _ => BlobCondition::None,
        }
    }

    /// A condition of another change: "if it does not exist" would be a malformed request.
    fn condition_of_existing(&mut self, object: usize) -> BlobCondition {
        match self.condition(object) {
            BlobCondition::Absent => BlobCondition::None,
            other => other,
        }
    }

    /// The request for an operation.
    pub(crate) fn request(&self, caller: &TrialCaller, operation: &BlobCall) -> Request {
        let object = operation.object();
        match operation {
            BlobCall::Block(call) => self.block_request(caller, call),
            BlobCall::Append(call) => self.append_request(caller, call, object),
            BlobCall::Page(call) => self.page_request(caller, call, object),
            BlobCall::Tag(call) => self.tag_request(caller, call, object),
            BlobCall::Kept(keeping, call) => self.kept_request(caller, *keeping, call),
            BlobCall::Tier(call) => self.tier_request(caller, call),
            BlobCall::Guarded(call) => self.guarded_request(caller, call),
        }
    }

    /// What a response says. An error if it is none that the operation can get.
    pub(crate) fn output(&mut self, operation: &BlobCall, response: &Response) -> Result<Output, String> {
        let object = operation.object();
        let output = match operation {
            BlobCall::Block(call) => self.block_output(call, response)?,
            BlobCall::Append(call) => self.append_output(call, object, response)?,
            BlobCall::Page(call) => self.page_output(call, object, response)?,
            BlobCall::Tag(call) => self.tag_output(call, object, response)?,
            BlobCall::Kept(keeping, call) => self.kept_output(*keeping, call, response)?,
            BlobCall::Tier(call) => self.tier_output(call, response)?,
            BlobCall::Guarded(call) => self.guarded_output(call, response)?,
        };
        output
            .ok_or_else(|| format!("{operation:?} got the response {} {}", response.status, response.text()))
    }

    /// A request with a condition.
    fn under(&self, request: Request, object: usize, condition: BlobCondition) -> Request {
        match condition {
            BlobCondition::None => request,
            BlobCondition::Absent => request.with("If-None-Match", "*"),
            BlobCondition::Is(_) => {
                let etag = self.known.get(&object).map(|(_, etag)| etag.clone()).unwrap_or_default();
                request.with("If-Match", etag)
            }
        }
    }

    /// Remembers the ETag that a change has made.
    fn learn(&mut self, object: usize, number: u32, response: &Response) {
        if let Some(etag) = response.header("ETag") {
            self.known.insert(object, (number, etag.to_owned()));
        }
    }

    /// Forgets the ETag of a blob.
    pub(crate) fn forget(&mut self, object: usize) {
        self.known.remove(&object);
    }

    fn path(&self, name: &str) -> String {
        format!("/{}/{name}", self.container)
    }
}

/// Reads that show everything but plain block blobs.
pub(crate) fn special_reads() -> impl Iterator<Item = BlobCall> {
    let pages = [PageCall::Get, PageCall::Ranges, PageCall::Sequence].map(BlobCall::Page);
    let finds = (0..tagged::TAGS).map(|tag| TagCall::Find { tag });
    let tags = [TagCall::Get { tag: None }, TagCall::GetTag].into_iter().chain(finds).map(BlobCall::Tag);
    // A list also tells which versions and snapshots there are.
    let kept = Keeping::ALL
        .into_iter()
        .flat_map(|keeping| [KeptCall::List, KeptCall::Get].map(|call| BlobCall::Kept(keeping, call)));
    let tiers = [TierCall::GetTier, TierCall::Get].map(BlobCall::Tier);
    let gets = [false, true].map(|has_key| GuardedCall::Get { has_key });
    let guarded = gets.into_iter().chain([GuardedCall::GetGuard]).map(BlobCall::Guarded);
    let special = [BlobCall::Append(AppendCall::Get)].into_iter().chain(pages).chain(tags);
    special.chain(kept).chain(tiers).chain(guarded)
}

/// The response to a change that returns nothing of interest; `None` if it is a strange one.
fn changed(response: &Response) -> Option<Output> {
    match response.status {
        200..300 => Some(Output::Applied),
        404 | 409 | 412 => Some(Output::Rejected),
        _ => None,
    }
}

/// A header that is a number.
fn numeric<N: std::str::FromStr>(response: &Response, name: &str) -> Option<N> {
    response.header(name)?.parse().ok()
}

impl linear::HistoryClient<BlobCall> for Client {
    async fn run(mut self, operations: usize) -> Result<Vec<HistoryEvent<BlobCall>>, String> {
        for _ in 0..operations {
            let operation = self.chooser.choose();
            if !self.perform(operation).await? {
                break;
            }
        }
        Ok(self.events)
    }

    async fn read_all(mut self) -> Result<Vec<HistoryEvent<BlobCall>>, String> {
        let blocks = (0..BLOBS).map(|blob| BlobCall::Block(BlockCall::Get { blob }));
        for read in blocks.chain(special_reads()) {
            if !self.perform(read).await? {
                return Err("a read at the end got no response".into());
            }
        }
        for read in self.chooser.past_reads() {
            if !self.perform(read).await? {
                return Err("a read of a version or snapshot at the end got no response".into());
            }
        }
        Ok(self.events)
    }
}
