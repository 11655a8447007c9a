//! A client's operations on the append blob.

use lazuli_probe::{Request, Response};

use super::{Chooser, changed, numeric};
use crate::blob::record::append::{AppendCall, AppendView, length, piece, pieces};
use crate::blob::record::{BlobCondition, Output, block::BLOBS};
use crate::caller::TrialCaller;

/// The size of a few more pieces, for a condition on the size.
const ROOM_BYTES: u64 = 5_000;

impl Chooser {
    pub(super) fn choose_append(&mut self) -> AppendCall {
        match self.random.below(20) {
            0..4 => AppendCall::Get,
            4..6 => {
                // Most creations do not replace the appends of other clients.
                let condition =
                    if self.random.chance(80) { BlobCondition::Absent } else { self.condition(BLOBS) };
                AppendCall::Create { number: self.next_number(), condition }
            }
            6..18 => {
                let number = self.next_number();
                // Other clients append as well, so a condition on the ETag is rarely met.
                let condition = if self.random.chance(20) {
                    self.condition_of_existing(BLOBS)
                } else {
                    BlobCondition::None
                };
                let position = self.position();
                let size_max = self.random.chance(15).then(|| self.length + ROOM_BYTES);
                AppendCall::Append { number, condition, position, size_max }
            }
            18 => {
                let number = self.next_number();
                let condition = self.condition_of_existing(BLOBS);
                AppendCall::Seal { number, condition, position: self.position() }
            }
            _ => AppendCall::Delete { condition: self.condition_of_existing(BLOBS) },
        }
    }

    fn position(&mut self) -> Option<u64> {
        self.random.chance(50).then_some(self.length)
    }

    pub(super) fn append_request(&self, caller: &TrialCaller, call: &AppendCall, object: usize) -> Request {
        let path = self.path("append");
        let put = |query: &str| caller.request("PUT", &format!("{path}{query}"));
        let at = |request: Request, position: Option<u64>| match position {
            Some(position) => request.with("x-ms-blob-condition-appendpos", position.to_string()),
            None => request,
        };
        match call {
            AppendCall::Get => caller.request("GET", &path),
            AppendCall::Create { number, condition } => {
                let request = put("").with("x-ms-blob-type", "AppendBlob");
                self.under(request.with("x-ms-meta-created", number.to_string()), object, *condition)
            }
            AppendCall::Append { number, condition, position, size_max } => {
                let request = at(put("?comp=appendblock").body(piece(*number)), *position);
                let request = match size_max {
                    Some(bytes) => request.with("x-ms-blob-condition-maxsize", bytes.to_string()),
                    None => request,
                };
                self.under(request, object, *condition)
            }
            AppendCall::Seal { condition, position, .. } => {
                self.under(at(put("?comp=seal"), *position), object, *condition)
            }
            AppendCall::Delete { condition } => {
                self.under(caller.request("DELETE", &path), object, *condition)
            }
        }
    }

    pub(super) fn append_output(
        &mut self,
        call: &AppendCall,
        object: usize,
        response: &Response,
    ) -> Result<Option<Output>, String> {
        Ok(match (call, response.status) {
            (AppendCall::Get, 200) => {
                self.length = response.body.len() as u64;
                let pieces = pieces(&response.body)?;
                let is_sealed = response.header("x-ms-blob-sealed") == Some("true");
                let Some(created) = numeric(response, "x-ms-meta-created") else { return Ok(None) };
                // A reader does not know which change sealed it.
                if !is_sealed {
                    self.learn(object, pieces.last().copied().unwrap_or(created), response);
                }
                Some(Output::Appends(Some(AppendView { created, pieces, is_sealed })))
            }
            (AppendCall::Get, 404) => Some(Output::Appends(None)),
            (AppendCall::Get, _) => None,
            (AppendCall::Append { number, .. }, 201) => {
                self.learn(object, *number, response);
                let offset: Option<u64> = numeric(response, "x-ms-blob-append-offset");
                let count = numeric(response, "x-ms-blob-committed-block-count");
                self.length = offset.unwrap_or_default() + length(*number);
                offset.zip(count).map(|(offset, count)| Output::Appended { offset, count })
            }
            (AppendCall::Append { .. }, 200..300) => None,
            (AppendCall::Create { number, .. }, 201) => {
                self.learn(object, *number, response);
                self.length = 0;
                Some(Output::Applied)
            }
            _ => changed(response),
        })
    }
}
