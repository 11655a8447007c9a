//! A request body that is already in memory, for callers without a socket.

use bytes::Bytes;
use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};

use super::handler::{Body, Reading};

/// A request body that is already in memory.
pub struct ReadyBody(pub Bytes);

impl Body for ReadyBody {
    fn length(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    fn collect(&mut self, max: usize) -> Reading<'_, Vec<u8>> {
        Reading::ready(match self.0.len() > max {
            true => Err(Failure::from(ErrorCode::RequestBodyTooLarge).found_in(Origin::FrontEnd)),
            false => Ok(std::mem::take(&mut self.0).into()),
        })
    }

    fn next(&mut self) -> Reading<'_, Option<Bytes>> {
        Reading::ready(Ok(Some(std::mem::take(&mut self.0)).filter(|piece| !piece.is_empty())))
    }

    fn hold(&mut self, _bytes: usize) -> Result<(), Failure> {
        Ok(())
    }
}
