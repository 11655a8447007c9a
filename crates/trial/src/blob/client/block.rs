//! A client's operations on block blobs.

use lazuli_probe::{Request, Response};

use super::{Chooser, changed};
use crate::blob::record::block::BLOBS;
use crate::blob::record::{BlobCondition, BlockCall, Output};
use crate::blob::soak::content;
use crate::caller::TrialCaller;

/// Leases that clients share: there are few, so that clients encounter the leases of others.
const LEASES: usize = 4;

impl Chooser {
    pub(super) fn choose_block(&mut self) -> BlockCall {
        let blob = self.random.below(BLOBS);
        let id = self.random.below(LEASES) as u32;
        match self.random.below(20) {
            0..6 => BlockCall::Get { blob },
            6..13 => {
                let value = self.next_number();
                BlockCall::Put { blob, value, condition: self.condition(blob), lease: self.lease() }
            }
            13..15 => {
                let condition = self.condition_of_existing(blob);
                BlockCall::Delete { blob, condition, lease: self.lease() }
            }
            15..17 => BlockCall::Acquire { blob, id },
            17..19 => BlockCall::Release { blob, id },
            _ => BlockCall::Break { blob },
        }
    }

    fn lease(&mut self) -> Option<u32> {
        self.random.chance(30).then(|| self.random.below(LEASES) as u32)
    }

    pub(super) fn block_request(&self, caller: &TrialCaller, call: &BlockCall) -> Request {
        let path = self.path(&format!("b{}", call.blob()));
        let lease = |action: &'static str| {
            caller.request("PUT", &format!("{path}?comp=lease")).with("x-ms-lease-action", action)
        };
        match call {
            BlockCall::Get { .. } => caller.request("GET", &path),
            BlockCall::Put { blob, value, condition, lease } => {
                let request = caller.request("PUT", &path).with("x-ms-blob-type", "BlockBlob");
                self.limited(request.body(content(u64::from(*value))), *blob, *condition, *lease)
            }
            BlockCall::Delete { blob, condition, lease } => {
                self.limited(caller.request("DELETE", &path), *blob, *condition, *lease)
            }
            BlockCall::Acquire { id, .. } => lease("acquire")
                .with("x-ms-lease-duration", "-1")
                .with("x-ms-proposed-lease-id", lease_id(*id)),
            BlockCall::Release { id, .. } => lease("release").with("x-ms-lease-id", lease_id(*id)),
            BlockCall::Break { .. } => lease("break").with("x-ms-lease-break-period", "0"),
        }
    }

    fn limited(
        &self,
        request: Request,
        blob: usize,
        condition: BlobCondition,
        lease: Option<u32>,
    ) -> Request {
        let request = self.under(request, blob, condition);
        match lease {
            Some(id) => request.with("x-ms-lease-id", lease_id(id)),
            None => request,
        }
    }

    pub(super) fn block_output(
        &mut self,
        call: &BlockCall,
        response: &Response,
    ) -> Result<Option<Output>, String> {
        Ok(match (call, response.status) {
            (BlockCall::Get { blob }, 200) => {
                let value = value(&response.body)?;
                self.learn(*blob, value, response);
                Some(Output::Value(Some(value)))
            }
            (BlockCall::Get { .. }, 404) => Some(Output::Value(None)),
            (BlockCall::Get { .. }, _) => None,
            (BlockCall::Put { blob, value, .. }, 201) => {
                self.learn(*blob, *value, response);
                Some(Output::Applied)
            }
            _ => changed(response),
        })
    }
}

/// The value that the content encodes. Every byte of it must be correct.
pub(super) fn value(body: &[u8]) -> Result<u32, String> {
    let number = std::str::from_utf8(body).ok().and_then(|text| text.split(' ').next()?.parse::<u32>().ok());
    match number {
        Some(value) if content(u64::from(value)) == body => Ok(value),
        _ => Err(format!("content of {} bytes that nobody wrote", body.len())),
    }
}

fn lease_id(number: u32) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}
