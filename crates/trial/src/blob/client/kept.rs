//! What a client does with the blobs of accounts that keep what is replaced or deleted.

use lazuli_probe::{Request, Response};

use super::{Chooser, changed};
use crate::blob::record::append::{piece, pieces};
use crate::blob::record::{BlobCall, Keeping, KeptCall, KeptState, Output};
use crate::caller::{RESTORES_ACCOUNT, TrialCaller, VERSIONS_ACCOUNT};

/// The name of the blob in its container, which has no other.
const NAME: &str = "kept";
/// Above this many known versions or snapshots a client mostly deletes some: nothing may grow in a long run.
const PAST_MAX: usize = 8;

/// A version or snapshot that a client knows.
pub(super) struct PastEntry {
    /// Its version id or its snapshot.
    id: String,
    /// Was it deleted when the client saw it last?
    is_deleted: bool,
}

impl Keeping {
    /// The account that keeps this.
    pub(crate) fn account(self) -> &'static str {
        match self {
            Keeping::Versions => VERSIONS_ACCOUNT,
            Keeping::Deleted => RESTORES_ACCOUNT,
        }
    }
}

impl Chooser {
    pub(super) fn choose_kept(&mut self, keeping: Keeping) -> KeptCall {
        let known: Vec<(u32, bool)> =
            self.past[keeping as usize].iter().map(|(number, entry)| (*number, entry.is_deleted)).collect();
        if known.is_empty() && self.random.chance(20) {
            return KeptCall::List;
        }
        let past = (!known.is_empty()).then(|| *self.random.pick(&known));
        if let Some((number, is_deleted)) = past
            && known.len() > PAST_MAX
            && self.random.chance(75)
        {
            return if is_deleted { KeptCall::Purge { number } } else { KeptCall::DeletePast { number } };
        }
        if let Some((number, _)) = past
            && self.random.chance(45)
        {
            return match self.random.below(9) {
                0..5 => KeptCall::GetPast { number },
                5..8 => KeptCall::DeletePast { number },
                _ => KeptCall::Purge { number },
            };
        }
        match self.random.below(11) {
            0 => KeptCall::Get,
            1..3 => KeptCall::List,
            3..6 => {
                let number = self.next_number();
                KeptCall::Put { number, condition: self.condition(keeping.object()) }
            }
            6..9 => {
                let condition = self.condition_of_existing(keeping.object());
                KeptCall::Delete { condition, takes_snapshots: self.random.chance(70) }
            }
            _ => KeptCall::Undelete,
        }
    }

    /// Reads of all versions and snapshots that the client knows.
    pub(super) fn past_reads(&self) -> Vec<BlobCall> {
        let reads = Keeping::ALL.into_iter().flat_map(|keeping| {
            let numbers = self.past[keeping as usize].keys();
            numbers.map(move |number| BlobCall::Kept(keeping, KeptCall::GetPast { number: *number }))
        });
        reads.collect()
    }

    pub(super) fn kept_request(&self, caller: &TrialCaller, keeping: Keeping, call: &KeptCall) -> Request {
        let (container, object) = (self.path(""), keeping.object());
        let of = |method, query: &str| {
            caller.request_in(keeping.account(), method, &format!("{container}{NAME}{query}"))
        };
        match call {
            KeptCall::Get => of("GET", ""),
            KeptCall::GetPast { number } => of("GET", &format!("?{}", self.past_query(keeping, *number))),
            KeptCall::List => {
                let what = match keeping {
                    Keeping::Versions => "versions",
                    Keeping::Deleted => "snapshots",
                };
                let query = format!("?restype=container&comp=list&include={what},deleted,metadata");
                let path = format!("/{}{query}", self.container);
                caller.request_in(keeping.account(), "GET", &path)
            }
            KeptCall::Put { number, condition } => {
                let request = of("PUT", "").with("x-ms-blob-type", "BlockBlob").body(piece(*number));
                self.under(request.with("x-ms-meta-number", number.to_string()), object, *condition)
            }
            KeptCall::Delete { condition, takes_snapshots } => {
                let request = self.under(of("DELETE", ""), object, *condition);
                if *takes_snapshots { request.with("x-ms-delete-snapshots", "include") } else { request }
            }
            KeptCall::DeletePast { number } => {
                of("DELETE", &format!("?{}", self.past_query(keeping, *number)))
            }
            KeptCall::Purge { number } => {
                let query = format!("?{}&deletetype=permanent", self.past_query(keeping, *number));
                of("DELETE", &query)
            }
            KeptCall::Undelete => of("PUT", "?comp=undelete"),
        }
    }

    fn past_query(&self, keeping: Keeping, number: u32) -> String {
        let name = match keeping {
            Keeping::Versions => "versionid",
            Keeping::Deleted => "snapshot",
        };
        let id = self.past[keeping as usize].get(&number).map(|entry| entry.id.as_str());
        format!("{name}={}", id.unwrap_or_default().replace(':', "%3A"))
    }

    pub(super) fn kept_output(
        &mut self,
        keeping: Keeping,
        call: &KeptCall,
        response: &Response,
    ) -> Result<Option<Output>, String> {
        let past = &mut self.past[keeping as usize];
        let is_done = (200..300).contains(&response.status);
        Ok(match (call, response.status) {
            (KeptCall::Get, 200) => {
                let number = number_of(&response.body)?;
                self.learn(keeping.object(), number, response);
                Some(Output::Value(Some(number)))
            }
            (KeptCall::GetPast { .. }, 200) => Some(Output::Value(Some(number_of(&response.body)?))),
            (KeptCall::Get | KeptCall::GetPast { .. }, 404) => Some(Output::Value(None)),
            (KeptCall::List, 200) => {
                let Some(listed) = listed(&response.text()) else { return Ok(None) };
                past.clear();
                past.extend(listed.iter().filter_map(|(number, id, state)| {
                    let is_deleted = *state == KeptState::DeletedPast;
                    Some((*number, PastEntry { id: id.clone()?, is_deleted }))
                }));
                Some(Output::Kept(listed.into_iter().map(|(number, _, state)| (number, state)).collect()))
            }
            (KeptCall::Get | KeptCall::GetPast { .. } | KeptCall::List, _) => None,
            (KeptCall::Put { number, .. }, 201) => {
                if let Some(id) = response.header("x-ms-version-id") {
                    past.insert(*number, PastEntry { id: id.to_owned(), is_deleted: false });
                }
                self.learn(keeping.object(), *number, response);
                Some(Output::Applied)
            }
            // The version is the blob itself.
            (KeptCall::DeletePast { .. }, 403) if keeping == Keeping::Versions => Some(Output::Rejected),
            (KeptCall::DeletePast { number }, _) => {
                past.get_mut(number).into_iter().for_each(|entry| entry.is_deleted = true);
                changed(response)
            }
            // It is not deleted.
            (KeptCall::Purge { number }, 400) => {
                past.get_mut(number).into_iter().for_each(|entry| entry.is_deleted = false);
                Some(Output::Rejected)
            }
            (KeptCall::Purge { number }, _) => {
                past.remove(number);
                changed(response)
            }
            (KeptCall::Undelete, 404) if keeping == Keeping::Versions => Some(Output::Applied),
            (KeptCall::Undelete, _) if is_done => {
                past.values_mut().for_each(|entry| entry.is_deleted = false);
                Some(Output::Applied)
            }
            _ => changed(response),
        })
    }
}

/// The change that wrote this content, every byte of which must be correct.
fn number_of(body: &[u8]) -> Result<u32, String> {
    match pieces(body)?[..] {
        [number] => Ok(number),
        _ => Err(format!("content of {} bytes that nobody wrote", body.len())),
    }
}

/// What a listing shows: the changes, the ids of versions or snapshots, the states. `None` if it is no such listing.
fn listed(text: &str) -> Option<Vec<(u32, Option<String>, KeptState)>> {
    if !text.contains("<Blobs") {
        return None;
    }
    let entry = |part: &str| {
        let number = element(part, "number")?.parse().ok()?;
        let id = element(part, "VersionId").or_else(|| element(part, "Snapshot")).map(str::to_owned);
        let is_blob = id.is_none() || part.contains("<IsCurrentVersion>true<");
        let state = match (is_blob, part.contains("<Deleted>true<")) {
            (true, false) => KeptState::Current,
            (true, true) => KeptState::DeletedBlob,
            (false, false) => KeptState::Past,
            (false, true) => KeptState::DeletedPast,
        };
        Some((number, id, state))
    };
    text.split("<Blob>").skip(1).map(entry).collect()
}

pub(super) fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once("</").map(|(value, _)| value)
}
