//! The part of a container's record that belongs to the blob service.

use bytes::Bytes;
use lazuli_engine::Result;
use lazuli_model::Metadata;
use lazuli_model::blob::Lease;
use lazuli_model::blob::container::{DefaultScope, PublicAccess};

use super::{FORMAT, fields};
use crate::blob::codec::{Decoder, Encoder, corrupt};

const CHANGED: u8 = 1;
const PUBLIC_ACCESS: u8 = 2;
const METADATA: u8 = 3;
const LEASE: u8 = 4;
const SCOPE: u8 = 5;
const DENIES_OTHERS: u8 = 6;
const MAY_HOLD: u8 = 7;

/// The record that the blob service keeps about a container.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContainerData {
    /// The version of the commit that determines the ETag; 0 for the commit that wrote this record.
    pub changed: u64,
    /// Anonymous access.
    pub public_access: PublicAccess,
    /// Metadata.
    pub metadata: Metadata,
    /// Its lease.
    pub lease: Option<Lease>,
    /// The encryption scope of its blobs.
    pub scope: DefaultScope,
    /// Can one of its blobs have an immutability policy or a legal hold? Never unset.
    pub may_hold: bool,
}

impl ContainerData {
    /// Its bytes.
    pub fn encode(&self) -> Bytes {
        let mut encoder = Encoder::starting_with(&[FORMAT]);
        encoder.number_field(CHANGED, self.changed);
        let access = match self.public_access {
            PublicAccess::None => 0,
            PublicAccess::Blob => 1,
            PublicAccess::Container => 2,
        };
        encoder.number_field(PUBLIC_ACCESS, access);
        if !self.metadata.is_empty() {
            encoder.field(METADATA, |value| fields::encode_metadata(value, &self.metadata));
        }
        if let Some(lease) = &self.lease {
            encoder.field(LEASE, |value| fields::encode_lease(value, lease));
        }
        encoder.text_field(SCOPE, self.scope.name.as_deref());
        encoder.number_field(DENIES_OTHERS, u64::from(self.scope.denies_others));
        encoder.number_field(MAY_HOLD, u64::from(self.may_hold));
        encoder.finish()
    }

    /// Reads its bytes.
    pub fn decode(bytes: &Bytes) -> Result<Self> {
        let mut decoder = Decoder::new(bytes.clone());
        if decoder.byte()? != FORMAT {
            return Err(corrupt("a container has an unknown format"));
        }
        let mut data = Self::default();
        decoder.fields(|tag, value| {
            match tag {
                CHANGED => data.changed = value.number()?,
                PUBLIC_ACCESS => {
                    data.public_access = match value.number()? {
                        1 => PublicAccess::Blob,
                        2 => PublicAccess::Container,
                        _ => return Err(corrupt("a container has an unknown kind of access")),
                    }
                }
                METADATA => data.metadata = fields::decode_metadata(value)?,
                LEASE => data.lease = Some(fields::decode_lease(value)?),
                SCOPE => data.scope.name = Some(fields::whole_text(value)?),
                DENIES_OTHERS => data.scope.denies_others = value.number()? == 1,
                MAY_HOLD => data.may_hold = value.number()? == 1,
                _ => return Err(corrupt("a container has an unknown field")),
            }
            Ok(())
        })?;
        Ok(data)
    }
}
