//! A request body that is in memory already: for callers without a socket.

use bytes::Bytes;
use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};

use super::connection::Body;

/// A request body that is in memory already.
pub struct ReadyBody(pub Bytes);

impl Body for ReadyBody {
    fn length(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    async fn collect(&mut self, max: usize) -> Result<Vec<u8>, Failure> {
        if self.0.len() > max {
            return Err(Failure::from(ErrorCode::RequestBodyTooLarge).found_in(Origin::FrontEnd));
        }
        Ok(std::mem::take(&mut self.0).into())
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        Ok(Some(std::mem::take(&mut self.0)).filter(|piece| !piece.is_empty()))
    }

    fn hold(&mut self, _bytes: usize) -> Result<(), Failure> {
        Ok(())
    }
}
