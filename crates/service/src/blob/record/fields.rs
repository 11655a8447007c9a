//! The fields of a blob's record. A tag is never reused.

use lazuli_engine::Result;
use lazuli_model::blob::copy::{CopyInfo, CopyStatus};
use lazuli_model::blob::lease::Term;
use lazuli_model::blob::properties::ContentMd5;
use lazuli_model::blob::protection::{ImmutabilityMode, ImmutabilityPolicy};
use lazuli_model::blob::tier::{RehydratePriority, TierInfo};
use lazuli_model::blob::{AccessTier, BlobKind, BlockId, Lease, Tags};
use lazuli_model::{DateTime, Guid, Metadata};

use super::{
    CopyTask, Deleted, Head, KeptMarks, Marks, Named, Pages, RemoteTask, Revision, SnapshotMarks,
    StagedMarks, Stored,
};
use crate::blob::codec::{Decoder, Encoder, corrupt};
use crate::blob::keyspace::Generation;
use crate::blob::segment::Segment;

const STAGED: u8 = 1;
const SNAPSHOTS: u8 = 2;
const SHAPE: u8 = 3;
const KEPT: u8 = 4;
const DELETED_BLOB: u8 = 5;
const STAGED_LEASE: u8 = 6;
// 7 to 9 are free for marks.
const KIND: u8 = 10;
const CHANGED: u8 = 11;
const CREATED: u8 = 12;
const SIZE: u8 = 13;
const INLINE: u8 = 14;
const GENERATION: u8 = 15;
const RUNS: u8 = 16;
const PAGES: u8 = 17;
const INCREMENTAL: u8 = 18;
const CONTENT_TYPE: u8 = 20;
const CONTENT_ENCODING: u8 = 21;
const CONTENT_LANGUAGE: u8 = 22;
const CONTENT_DISPOSITION: u8 = 23;
const CACHE_CONTROL: u8 = 24;
const CONTENT_MD5: u8 = 25;
const METADATA: u8 = 30;
const LEASE: u8 = 31;
const COPY: u8 = 32;
const COPY_TASK: u8 = 33;
const TAGS: u8 = 34;
const TIER: u8 = 35;
const KEY_SHA256: u8 = 36;
const SCOPE: u8 = 37;
const IMMUTABILITY: u8 = 38;
const LEGAL_HOLD: u8 = 39;
const SEQUENCE_NUMBER: u8 = 40;
const APPENDS: u8 = 41;
const IS_SEALED: u8 = 42;
const VERSION: u8 = 50;
const DELETED: u8 = 51;
const REHYDRATED: u8 = 52;
const ACCESSED: u8 = 53;

const KINDS: [BlobKind; 3] = [BlobKind::Block, BlobKind::Page, BlobKind::Append];
const STATUSES: [CopyStatus; 4] =
    [CopyStatus::Pending, CopyStatus::Success, CopyStatus::Aborted, CopyStatus::Failed];
const MODES: [ImmutabilityMode; 2] = [ImmutabilityMode::Unlocked, ImmutabilityMode::Locked];
const PRIORITIES: [RehydratePriority; 2] = [RehydratePriority::Standard, RehydratePriority::High];

pub fn encode_marks(encoder: &mut Encoder, marks: &Marks) {
    if let Some(StagedMarks { horizon, fence, id_bytes, is_live, lease }) = marks.staged {
        encoder.field(STAGED, |value| {
            value.number(horizon).number(fence).number(id_bytes.into());
        });
        if let Some(lease) = lease.filter(|_| is_live) {
            encoder.field(STAGED_LEASE, |value| encode_lease(value, &lease));
        }
    }
    let SnapshotMarks { count, last, floor } = marks.snapshots;
    if marks.snapshots != SnapshotMarks::default() {
        encoder.field(SNAPSHOTS, |value| {
            value.number(count).number(last).number(floor);
        });
    }
    encoder.number_field(SHAPE, marks.shape);
    let KeptMarks { floor, batch, restored, last_version } = marks.kept;
    if marks.kept != KeptMarks::default() {
        encoder.field(KEPT, |value| {
            value.number(floor).number(restored).number(last_version);
            if let Some(batch) = batch {
                encode_deletion(value, batch);
            }
        });
    }
}

/// A deleted blob is a record within the record.
pub fn encode_deleted_blob(encoder: &mut Encoder, deleted: &Revision) {
    encoder.field(DELETED_BLOB, |value| {
        value.raw(&Head::of(deleted.clone()).encode());
    });
}

fn decode_deleted_blob(value: &mut Decoder) -> Result<Option<Box<Revision>>> {
    let inner = value.rest();
    // Only one level: a deleted blob contains no other.
    if Head::has_deleted(&inner) {
        return Err(corrupt("a deleted blob contains another"));
    }
    let blob = Head::decode(&inner)?.blob;
    Ok(Some(Box::new(blob.ok_or_else(|| corrupt("a deleted blob is empty"))?)))
}

fn encode_deletion(value: &mut Encoder, deleted: Deleted) {
    value.number(deleted.at).number(deleted.until);
}

fn decode_deletion(value: &mut Decoder) -> Result<Deleted> {
    Ok(Deleted { at: value.number()?, until: value.number()? })
}

pub fn encode_revision(encoder: &mut Encoder, blob: &Revision) {
    encoder
        .number_field(KIND, index(&KINDS, &blob.kind))
        .number_field(CHANGED, blob.changed)
        .number_field(CREATED, blob.created)
        .number_field(SIZE, blob.size);
    match &blob.content {
        Stored::Inline { bytes, blocks } if blocks.is_empty() => {
            encoder.field_of(INLINE, bytes.len() + 1, |value| {
                value.number(0).raw(bytes);
            })
        }
        Stored::Inline { bytes, blocks } => encoder.field(INLINE, |value| {
            value.number(blocks.len() as u64);
            blocks.iter().for_each(|(id, length)| {
                value.bytes(id.as_bytes()).number(*length);
            });
            value.raw(bytes);
        }),
        Stored::Generation(named) => encoder.field(GENERATION, |value| encode_named(value, named)),
        Stored::Runs(generation) => encoder.field(RUNS, |value| {
            value.raw(&generation.0.to_be_bytes());
        }),
        Stored::Pages(pages) => encoder.field(PAGES, |value| pages.encode(value)),
    };
    if let Some(task) = &blob.incremental {
        encoder.field(INCREMENTAL, |value| encode_task(value, task));
    }
    let headers = &blob.headers;
    encoder
        .text_field(CONTENT_TYPE, headers.content_type.as_deref())
        .text_field(CONTENT_ENCODING, headers.content_encoding.as_deref())
        .text_field(CONTENT_LANGUAGE, headers.content_language.as_deref())
        .text_field(CONTENT_DISPOSITION, headers.content_disposition.as_deref())
        .text_field(CACHE_CONTROL, headers.cache_control.as_deref());
    if let Some(md5) = &headers.content_md5 {
        encoder.field(CONTENT_MD5, |value| {
            value.raw(md5.as_bytes());
        });
    }
    encode_rest(encoder, blob);
}

fn encode_rest(encoder: &mut Encoder, blob: &Revision) {
    if !blob.metadata.is_empty() {
        encoder.field(METADATA, |value| encode_metadata(value, &blob.metadata));
    }
    if let Some(lease) = &blob.lease {
        encoder.field(LEASE, |value| encode_lease(value, lease));
    }
    if let Some(copy) = &blob.copy {
        encoder.field(COPY, |value| encode_copy(value, copy));
    }
    if let Some(task) = &blob.copying {
        encoder.field(COPY_TASK, |value| encode_task(value, task));
    }
    if !blob.tags.is_empty() {
        encoder.field(TAGS, |value| encode_pairs(value, blob.tags.iter()));
    }
    if blob.tier != TierInfo::default() {
        encoder.field(TIER, |value| encode_tier(value, &blob.tier));
    }
    if let Some(sha256) = &blob.encryption.key_sha256 {
        encoder.field(KEY_SHA256, |value| {
            value.raw(sha256);
        });
    }
    encoder.text_field(SCOPE, blob.encryption.scope.as_deref());
    if let Some(ImmutabilityPolicy { until, mode }) = &blob.immutability {
        encoder.field(IMMUTABILITY, |value| {
            value.number(until.ticks()).number(index(&MODES, mode));
        });
    }
    encoder
        .number_field(LEGAL_HOLD, blob.legal_hold.into())
        .number_field(SEQUENCE_NUMBER, blob.sequence_number)
        .number_field(APPENDS, blob.appends.into())
        .number_field(IS_SEALED, blob.is_sealed.into())
        .number_field(VERSION, blob.version);
    if let Some(deleted) = blob.deleted {
        encoder.field(DELETED, |value| encode_deletion(value, deleted));
    }
    encoder.number_field(REHYDRATED, blob.rehydrated).number_field(ACCESSED, blob.accessed);
}

/// Reads one field into the record.
pub fn decode(head: &mut Head, tag: u8, value: &mut Decoder) -> Result<()> {
    match tag {
        STAGED => {
            let (horizon, fence, id_bytes) = (value.number()?, value.number()?, value.small()?);
            head.marks.staged = Some(StagedMarks { horizon, fence, id_bytes, ..StagedMarks::default() });
        }
        STAGED_LEASE => {
            let lease = Some(decode_lease(value)?);
            head.marks.staged.iter_mut().for_each(|marks| marks.lease = lease);
        }
        SNAPSHOTS => {
            let (count, last, floor) = (value.number()?, value.number()?, value.number()?);
            head.marks.snapshots = SnapshotMarks { count, last, floor };
        }
        SHAPE => head.marks.shape = value.number()?,
        KEPT => {
            let (floor, restored, last_version) = (value.number()?, value.number()?, value.number()?);
            let batch = if value.is_empty() { None } else { Some(decode_deletion(value)?) };
            head.marks.kept = KeptMarks { floor, batch, restored, last_version };
        }
        DELETED_BLOB => head.deleted = decode_deleted_blob(value)?,
        _ => match &mut head.blob {
            Some(blob) => decode_revision(blob, tag, value)?,
            None => return Err(corrupt("a blob without content has an unknown field")),
        },
    }
    Ok(())
}

fn decode_revision(blob: &mut Revision, tag: u8, value: &mut Decoder) -> Result<()> {
    let headers = &mut blob.headers;
    match tag {
        KIND => blob.kind = one_of(&KINDS, value.number()?)?,
        CHANGED => blob.changed = value.number()?,
        CREATED => blob.created = value.number()?,
        SIZE => blob.size = value.number()?,
        INLINE => blob.content = decode_inline(value)?,
        GENERATION => blob.content = Stored::Generation(decode_named(value)?),
        RUNS => blob.content = Stored::Runs(Generation(u64::from_be_bytes(value.array()?))),
        PAGES => blob.content = Stored::Pages(Pages::decode(value)?),
        CONTENT_TYPE => headers.content_type = Some(whole_text(value)?),
        CONTENT_ENCODING => headers.content_encoding = Some(whole_text(value)?),
        CONTENT_LANGUAGE => headers.content_language = Some(whole_text(value)?),
        CONTENT_DISPOSITION => headers.content_disposition = Some(whole_text(value)?),
        CACHE_CONTROL => headers.cache_control = Some(whole_text(value)?),
        CONTENT_MD5 => headers.content_md5 = Some(ContentMd5::from(&*value.rest())),
        METADATA => blob.metadata = decode_metadata(value)?,
        LEASE => blob.lease = Some(decode_lease(value)?),
        COPY => blob.copy = Some(Box::new(decode_copy(value)?)),
        INCREMENTAL => blob.incremental = Some(Box::new(decode_task(value)?)),
        COPY_TASK => blob.copying = Some(Box::new(decode_task(value)?)),
        TAGS => blob.tags = decode_tags(value)?,
        TIER => blob.tier = decode_tier(value)?,
        KEY_SHA256 => blob.encryption.key_sha256 = Some(value.array()?),
        SCOPE => blob.encryption.scope = Some(whole_text(value)?),
        IMMUTABILITY => {
            let (until, mode) = (time(value)?, one_of(&MODES, value.number()?)?);
            blob.immutability = Some(ImmutabilityPolicy { until, mode });
        }
        LEGAL_HOLD => blob.legal_hold = value.number()? == 1,
        SEQUENCE_NUMBER => blob.sequence_number = value.number()?,
        APPENDS => blob.appends = value.small()?,
        IS_SEALED => blob.is_sealed = value.number()? == 1,
        VERSION => blob.version = value.number()?,
        DELETED => blob.deleted = Some(decode_deletion(value)?),
        REHYDRATED => blob.rehydrated = value.number()?,
        ACCESSED => blob.accessed = value.number()?,
        _ => return Err(corrupt("a blob has an unknown field")),
    }
    Ok(())
}

fn encode_task(value: &mut Encoder, task: &CopyTask) {
    let CopyTask { account, container, blob, snapshot, version, etag, remote } = task;
    [account, container, blob].iter().for_each(|text| {
        value.bytes(text.as_bytes());
    });
    value.number(*snapshot).number(*etag).number(*version);
    if let Some(RemoteTask { url, etag }) = remote {
        value.bytes(url.as_bytes()).bytes(etag.as_bytes());
    }
}

fn decode_task(value: &mut Decoder) -> Result<CopyTask> {
    let (account, container, blob) = (value.text()?, value.text()?, value.text()?);
    let (snapshot, etag) = (value.number()?, value.number()?);
    let version = if value.is_empty() { 0 } else { value.number()? };
    let remote =
        if value.is_empty() { None } else { Some(RemoteTask { url: value.text()?, etag: value.text()? }) };
    Ok(CopyTask { account, container, blob, snapshot, version, etag, remote })
}

fn encode_named(value: &mut Encoder, named: &Named) {
    value.raw(&named.generation.0.to_be_bytes()).number(named.segments.into()).number(named.blocks.into());
    if let Some(direct) = &named.direct {
        value.raw(&direct.encode());
    }
}

fn decode_named(value: &mut Decoder) -> Result<Named> {
    let generation = Generation(u64::from_be_bytes(value.array()?));
    let (segments, blocks) = (value.small()?, value.small()?);
    let rest = value.rest();
    let direct = if rest.is_empty() { None } else { Some(Segment::decode(rest)?) };
    Ok(Named { generation, segments, blocks, direct })
}

fn decode_inline(value: &mut Decoder) -> Result<Stored> {
    let read = |value: &mut Decoder| {
        let id = BlockId::new(&value.bytes()?).ok_or_else(|| corrupt("a block id has a wrong length"))?;
        Ok((id, value.number()?))
    };
    let blocks = (0..value.count()?).map(|_| read(value)).collect::<Result<_>>()?;
    Ok(Stored::Inline { bytes: value.rest(), blocks })
}

pub fn encode_metadata(value: &mut Encoder, metadata: &Metadata) {
    encode_pairs(value, metadata.iter());
}

pub fn decode_metadata(value: &mut Decoder) -> Result<Metadata> {
    let mut metadata = Metadata::default();
    while !value.is_empty() {
        let (name, text) = (value.text()?, value.text()?);
        metadata.insert(&name, &text).map_err(|_| corrupt("metadata is not legal"))?;
    }
    Ok(metadata)
}

fn decode_tags(value: &mut Decoder) -> Result<Tags> {
    let mut tags = Tags::default();
    while !value.is_empty() {
        let (name, text) = (value.text()?, value.text()?);
        tags.insert(&name, &text).map_err(|_| corrupt("a tag is not legal"))?;
    }
    Ok(tags)
}

fn encode_pairs<'a>(value: &mut Encoder, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
    pairs.for_each(|(name, text)| {
        value.bytes(name.as_bytes()).bytes(text.as_bytes());
    });
}

pub fn encode_lease(value: &mut Encoder, lease: &Lease) {
    value.raw(&lease.id.0);
    match lease.term {
        Term::Infinite => value.number(0),
        Term::Fixed { seconds, until } => value.number(1).number(seconds.into()).number(until.ticks()),
        Term::Breaking { until } => value.number(2).number(until.ticks()),
        Term::Broken => value.number(3),
    };
}

pub fn decode_lease(value: &mut Decoder) -> Result<Lease> {
    let id = Guid(value.array()?);
    let term = match value.number()? {
        0 => Term::Infinite,
        1 => Term::Fixed { seconds: value.small()?, until: time(value)? },
        2 => Term::Breaking { until: time(value)? },
        3 => Term::Broken,
        _ => return Err(corrupt("a lease has an unknown kind")),
    };
    Ok(Lease { id, term })
}

fn encode_copy(value: &mut Encoder, copy: &CopyInfo) {
    value
        .raw(&copy.id.0)
        .bytes(copy.source.as_bytes())
        .number(index(&STATUSES, &copy.status))
        .number(copy.copied)
        .number(copy.total)
        .number(copy.completed.map_or(0, DateTime::ticks))
        .bytes(copy.description.as_deref().unwrap_or_default().as_bytes())
        .number(copy.is_incremental.into())
        .number(copy.destination_snapshot.map_or(0, DateTime::ticks));
}

fn decode_copy(value: &mut Decoder) -> Result<CopyInfo> {
    Ok(CopyInfo {
        id: Guid(value.array()?),
        source: value.text()?,
        status: one_of(&STATUSES, value.number()?)?,
        copied: value.number()?,
        total: value.number()?,
        completed: maybe_time(value)?,
        description: Some(value.text()?).filter(|text| !text.is_empty()),
        is_incremental: value.number()? == 1,
        destination_snapshot: maybe_time(value)?,
    })
}

fn encode_tier(value: &mut Encoder, tier: &TierInfo) {
    value
        .number(index(AccessTier::ALL, &tier.tier))
        .number(tier.is_inferred.into())
        .number(tier.changed.map_or(0, DateTime::ticks));
    if let Some((to, priority)) = &tier.rehydrating {
        value.number(index(AccessTier::ALL, to)).number(index(&PRIORITIES, priority));
    }
}

fn decode_tier(value: &mut Decoder) -> Result<TierInfo> {
    let tier = one_of(AccessTier::ALL, value.number()?)?;
    let is_inferred = value.number()? == 1;
    let changed = maybe_time(value)?;
    let rehydrating = if value.is_empty() {
        None
    } else {
        Some((one_of(AccessTier::ALL, value.number()?)?, one_of(&PRIORITIES, value.number()?)?))
    };
    Ok(TierInfo { tier, is_inferred, changed, rehydrating })
}

/// The string that fills a whole field.
pub fn whole_text(value: &mut Decoder) -> Result<String> {
    String::from_utf8(value.rest().to_vec()).map_err(|_| corrupt("a string is not UTF-8"))
}

fn time(value: &mut Decoder) -> Result<DateTime> {
    DateTime::from_ticks(value.number()?).ok_or_else(|| corrupt("a time is too late"))
}

fn maybe_time(value: &mut Decoder) -> Result<Option<DateTime>> {
    Ok(Some(time(value)?).filter(|time| time.ticks() > 0))
}

/// The index of a value in the list that defines its number. New values are only added at the end of a list.
fn index<T: PartialEq>(all: &[T], value: &T) -> u64 {
    all.iter().position(|other| other == value).unwrap_or_default() as u64
}

fn one_of<T: Copy>(all: &[T], index: u64) -> Result<T> {
    let found = usize::try_from(index).ok().and_then(|index| all.get(index));
    found.copied().ok_or_else(|| corrupt("a value is unknown"))
}
