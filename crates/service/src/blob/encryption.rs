//! The encryption scope of a write: that of the shared access signature, of the request, or of the container.

use lazuli_model::ErrorCode;
use lazuli_model::blob::operation::{BlobAction, BlobRequest};

use super::core::Core;
use super::record::ContainerData;
use crate::{Grant, Result};

impl Core {
    /// Gives a write the scope that applies to it. Reads need none.
    pub async fn settle_scope(&self, grant: &Grant, request: &mut BlobRequest) -> Result<()> {
        if !has_scope(&request.action) {
            return Ok(());
        }
        let asked = &mut request.encryption.scope;
        if let Some(signed) = &grant.encryption_scope {
            let asked = asked.get_or_insert_with(|| signed.to_string());
            if **asked != **signed {
                return Err(ErrorCode::InvalidHeaderValue.into());
            }
        }
        let container = self.container(&grant.home, &request.container).await?;
        let default = ContainerData::decode(&container.record.data)?.scope;
        let Some(name) = default.name else { return Ok(()) };
        let is_other = request.encryption.key.is_some() || asked.as_ref().is_some_and(|asked| *asked != name);
        if is_other && default.denies_others {
            return Err(ErrorCode::RequestForbiddenByContainerEncryptionPolicy.into());
        }
        if !is_other {
            *asked = Some(name);
        }
        Ok(())
    }
}

/// Does the operation write data that a scope encrypts?
fn has_scope(action: &BlobAction) -> bool {
    matches!(
        action,
        BlobAction::PutBlob(..)
            | BlobAction::PutBlobFromUrl(_)
            | BlobAction::PutBlock(..)
            | BlobAction::PutBlockFromUrl(..)
            | BlobAction::PutBlockList(..)
            | BlobAction::Copy(_)
            | BlobAction::CreateAppend(_)
            | BlobAction::AppendBlock(..)
            | BlobAction::AppendBlockFromUrl(..)
            | BlobAction::CreatePage { .. }
            | BlobAction::PutPage(..)
            | BlobAction::PutPageFromUrl(..)
            | BlobAction::ClearPage(..)
            | BlobAction::SetMetadata(_)
            | BlobAction::Snapshot(_)
    )
}
