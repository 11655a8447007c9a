//! The record of an event that is not delivered yet.

use bytes::Bytes;
use lazuli_engine::Result;
use lazuli_model::blob::event::{Event, EventKind};
use lazuli_model::blob::{AccessTier, BlobKind, ETag};
use lazuli_model::{DateTime, Guid};

use crate::blob::codec::{Decoder, Encoder, corrupt};

const FORMAT: u8 = 2;
/// The format without the last field.
const FORMAT_WITHOUT_CANCELLATION: u8 = 1;
const KINDS: [EventKind; 3] = [EventKind::Created, EventKind::Deleted, EventKind::TierChanged];

/// An event that waits to be delivered. The name of the blob is the partition of its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The event. Its time is in the future if it has not happened yet.
    pub event: Event,
    /// When it is sent.
    pub delivery: Delivery,
    /// The time in ticks of a planned event of the same blob that the commit has cancelled; 0 if there is none.
    pub cancels: u64,
}

/// The time at which an event is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// At once.
    Now,
    /// At its time, unless a later row cancels it.
    Planned,
    /// At its time, if the blob is then in its tier. Written by earlier versions of the server; no row cancels
    /// it.
    PlannedIfUnchanged,
}

impl Delivery {
    fn number(self) -> u64 {
        match self {
            Delivery::Now => 0,
            Delivery::Planned | Delivery::PlannedIfUnchanged => 1,
        }
    }

    fn of(number: u64, format: u8) -> Option<Self> {
        match number {
            0 => Some(Delivery::Now),
            1 if format == FORMAT_WITHOUT_CANCELLATION => Some(Delivery::PlannedIfUnchanged),
            1 => Some(Delivery::Planned),
            _ => None,
        }
    }
}

impl Waiting {
    /// Is its time in the future when it is written?
    pub fn is_planned(&self) -> bool {
        matches!(self.delivery, Delivery::Planned | Delivery::PlannedIfUnchanged)
    }

    /// Its row.
    pub fn encode(&self) -> Bytes {
        let Event { id, kind, api, home, container, time, etag, size, content_type, blob_kind, tier, .. } =
            &self.event;
        let kind = KINDS.iter().position(|known| known == kind).unwrap_or_default() as u64;
        let is_old = self.delivery == Delivery::PlannedIfUnchanged;
        let format = if is_old { FORMAT_WITHOUT_CANCELLATION } else { FORMAT };
        let mut encoder = Encoder::starting_with(&[format]);
        encoder.number(kind).number(self.delivery.number()).raw(&id.0);
        encoder.number(time.ticks()).number(etag.number()).number(*size);
        let content_type = content_type.as_deref().unwrap_or_default();
        for text in [api, home, container, content_type, blob_kind.name(), tier.name()] {
            encoder.bytes(text.as_bytes());
        }
        if !is_old {
            encoder.number(self.cancels);
        }
        encoder.finish()
    }

    /// Reads its row.
    pub fn decode(blob: &str, row: &Bytes) -> Result<Self> {
        let mut decoder = Decoder::new(row.clone());
        let format = decoder.byte()?;
        if format != FORMAT && format != FORMAT_WITHOUT_CANCELLATION {
            return Err(corrupt("an event has an unknown format"));
        }
        let kind = usize::try_from(decoder.number()?).ok().and_then(|kind| KINDS.get(kind).copied());
        let kind = kind.ok_or_else(|| corrupt("an event has an unknown kind"))?;
        let delivery = Delivery::of(decoder.number()?, format);
        let delivery = delivery.ok_or_else(|| corrupt("an event is to be sent at an unknown time"))?;
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
        let cancels = if format == FORMAT { decoder.number()? } else { 0 };
        Ok(Self { event, delivery, cancels })
    }
}

/// Reads bytes as an event, for fuzzing: an event that can be read survives being written and read again.
pub fn check_record(bytes: &Bytes) {
    if let Ok(waiting) = Waiting::decode("b", bytes) {
        assert_eq!(Waiting::decode("b", &waiting.encode()), Ok(waiting));
    }
}

/// Keeps the first `max` events by time, with their rows, and all that are planned or cancel a planned one.
pub fn keep_first(found: &mut Vec<(String, Waiting)>, max: usize) {
    let is_plain = |waiting: &Waiting| !waiting.is_planned() && waiting.cancels == 0;
    let mut plain: Vec<_> = found.extract_if(.., |(_, waiting)| is_plain(waiting)).collect();
    plain.sort_by_key(|(_, waiting)| waiting.event.time);
    plain.truncate(max);
    found.append(&mut plain);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(ticks: u64, delivery: Delivery, cancels: u64) -> (String, Waiting) {
        let event = Event {
            id: Guid([7; 16]),
            kind: EventKind::Created,
            api: "PutBlob".into(),
            home: "home".into(),
            container: "c".into(),
            blob: "b".into(),
            time: DateTime::from_ticks(ticks).unwrap(),
            etag: ETag::new(6),
            size: 300,
            content_type: None,
            blob_kind: BlobKind::Block,
            tier: AccessTier::Hot,
        };
        (format!("e/{ticks}"), Waiting { event, delivery, cancels })
    }

    /// All events of a blob were in memory at the same time, regardless of their number.
    #[test]
    fn only_the_first_of_many_events_are_kept() {
        let mut found = vec![waiting(900, Delivery::Planned, 0), waiting(800, Delivery::Now, 900)];
        for page in 0..4 {
            found.extend((0..100).map(|n| waiting(1000 - page - 4 * n, Delivery::Now, 0)));
            keep_first(&mut found, 10);
            assert_eq!(found.len(), 12);
        }
        let mut times: Vec<u64> = found.iter().map(|(_, waiting)| waiting.event.time.ticks()).collect();
        times.sort_unstable();
        assert_eq!(times, [601, 602, 603, 604, 605, 606, 607, 608, 609, 610, 800, 900]);
    }

    #[test]
    fn records_are_read_back() {
        for (kind, delivery, content_type) in [
            (EventKind::Created, Delivery::Now, Some("text/plain".to_owned())),
            (EventKind::Deleted, Delivery::Now, None),
            (EventKind::TierChanged, Delivery::Planned, None),
            (EventKind::TierChanged, Delivery::PlannedIfUnchanged, None),
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
            let cancels = if delivery == Delivery::PlannedIfUnchanged { 0 } else { 9 };
            let waiting = Waiting { event, delivery, cancels };
            assert_eq!(Waiting::decode("b", &waiting.encode()).unwrap(), waiting);
        }
        for bad in [&b""[..], b"\x03", b"\x01\x09", b"\x01\x00\x00"] {
            assert!(Waiting::decode("b", &Bytes::from_static(bad)).is_err());
        }
    }
}
