//! The record of an event that is not delivered yet.

use bytes::Bytes;
use lazuli_engine::Result;
use lazuli_model::blob::event::{Event, EventKind};
use lazuli_model::blob::{AccessTier, BlobKind, ETag};
use lazuli_model::{DateTime, Guid};

use crate::blob::codec::{Decoder, Encoder, corrupt};

const FORMAT: u8 = 1;
const KINDS: [EventKind; 3] = [EventKind::Created, EventKind::Deleted, EventKind::TierChanged];

/// An event that waits to be delivered. The name of the blob is the partition of its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The event. Its time may be in the future, if it has not happened yet.
    pub event: Event,
    /// Does it only happen if the blob is still moving to the tier?
    pub is_planned: bool,
}

impl Waiting {
    /// Its row.
    pub fn encode(&self) -> Bytes {
        let Event { id, kind, api, home, container, time, etag, size, content_type, blob_kind, tier, .. } =
            &self.event;
        let kind = KINDS.iter().position(|known| known == kind).unwrap_or_default() as u64;
        let mut encoder = Encoder::starting_with(&[FORMAT]);
        encoder.number(kind).number(self.is_planned.into()).raw(&id.0);
        encoder.number(time.ticks()).number(etag.number()).number(*size);
        let content_type = content_type.as_deref().unwrap_or_default();
        for text in [api, home, container, content_type, blob_kind.name(), tier.name()] {
            encoder.bytes(text.as_bytes());
        }
        encoder.finish()
    }

    /// Reads its row.
    pub fn decode(blob: &str, row: &Bytes) -> Result<Self> {
        let mut decoder = Decoder::new(row.clone());
        if decoder.byte()? != FORMAT {
            return Err(corrupt("an event has an unknown format"));
        }
        let kind = usize::try_from(decoder.number()?).ok().and_then(|kind| KINDS.get(kind).copied());
        let kind = kind.ok_or_else(|| corrupt("an event has an unknown kind"))?;
        let is_planned = decoder.number()? == 1;
        let id = Guid(decoder.array()?);
        let time = DateTime::from_ticks(decoder.number()?).ok_or_else(|| corrupt("a time is too late"))?;
        let (etag, size) = (ETag::new(decoder.number()?), decoder.number()?);
        let (api, home, container) = (decoder.text()?, decoder.text()?, decoder.text()?);
        let content_type = Some(decoder.text()?).filter(|text| !text.is_empty());
        let wrong = || corrupt("an event has an unknown type or tier");
        let blob_kind = BlobKind::parse(&decoder.text()?).ok_or_else(wrong)?;
        let tier = AccessTier::parse(&decoder.text()?).ok_or_else(wrong)?;
        let blob = blob.to_owned();
        let event =
            Event { id, kind, api, home, container, blob, time, etag, size, content_type, blob_kind, tier };
        Ok(Self { event, is_planned })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_back() {
        for (kind, is_planned, content_type) in [
            (EventKind::Created, false, Some("text/plain".to_owned())),
            (EventKind::Deleted, false, None),
            (EventKind::TierChanged, true, None),
        ] {
            let event = Event {
                id: Guid([7; 16]),
                kind,
                api: "PutBlob".into(),
                home: "home".into(),
                container: "c".into(),
                blob: "b".into(),
                time: DateTime::from_ticks(5_000).unwrap(),
                etag: ETag::new(6),
                size: 300,
                content_type,
                blob_kind: BlobKind::Append,
                tier: AccessTier::Cold,
            };
            let waiting = Waiting { event, is_planned };
            assert_eq!(Waiting::decode("b", &waiting.encode()).unwrap(), waiting);
        }
        for bad in [&b""[..], b"\x02", b"\x01\x09", b"\x01\x00\x00"] {
            assert!(Waiting::decode("b", &Bytes::from_static(bad)).is_err());
        }
    }
}
