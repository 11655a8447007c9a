//! Records are read as written, stay readable, and reject damage.

use lazuli_engine::content::Piece;
use lazuli_model::Guid;
use lazuli_model::blob::AccessTier;
use lazuli_model::blob::container::{DefaultScope, PublicAccess};
use lazuli_model::blob::copy::CopyStatus;
use lazuli_model::blob::lease::Term;
use lazuli_model::blob::protection::ImmutabilityMode;
use lazuli_model::blob::tier::RehydratePriority;

use super::*;
use crate::blob::segment::{Entry, SegmentPart};

fn piece() -> Piece {
    Piece { stream: 1, offset: 4096, length: 3, crc: 5 }
}

fn lease() -> Lease {
    Lease { id: Guid([7; 16]), term: Term::Fixed { seconds: 60, until: time(99) } }
}

fn metadata() -> Metadata {
    let mut metadata = Metadata::default();
    metadata.insert("Owner", "Ada Ünïcode").unwrap();
    metadata.insert("empty", "").unwrap();
    metadata
}

/// A record in which every field is set.
fn full() -> Head {
    let mut tags = Tags::default();
    tags.insert("project", "apollo").unwrap();
    let text = |text: &str| Some(text.to_owned());
    let direct = Segment {
        starts: vec![],
        entries: vec![Entry { id: None, parts: vec![SegmentPart::Whole(piece())] }],
    };
    let blob = Revision {
        size: 3,
        content: Stored::Generation(Named {
            generation: Generation(u64::MAX - 1),
            segments: 1,
            blocks: 0,
            direct: Some(direct),
        }),
        headers: ContentHeaders {
            content_type: text("text/plain"),
            content_encoding: text("gzip"),
            content_language: text("de"),
            content_md5: Some([9; 16].into()),
            content_disposition: text("attachment"),
            cache_control: text("no-cache"),
        },
        metadata: metadata(),
        lease: Some(lease()),
        copy: Some(Box::new(CopyInfo {
            id: Guid([8; 16]),
            source: "http://host/a/c/b".into(),
            status: CopyStatus::Failed,
            copied: 1,
            total: 2,
            completed: Some(time(5)),
            description: text("404 BlobNotFound"),
            is_incremental: true,
            destination_snapshot: Some(time(6)),
        })),
        copying: Some(Box::new(CopyTask {
            account: "a".into(),
            container: "c".into(),
            blob: "b".into(),
            snapshot: 1,
            version: 3,
            etag: 2,
            remote: Some(RemoteTask { url: "http://host/c/b?sig=x".into(), etag: "\"1\"".into() }),
        })),
        tags,
        tier: TierInfo {
            tier: AccessTier::Archive,
            is_inferred: false,
            changed: Some(time(4)),
            rehydrating: Some((AccessTier::Hot, RehydratePriority::High)),
        },
        encryption: EncryptionView { key_sha256: Some([3; 32]), scope: text("scope") },
        immutability: Some(ImmutabilityPolicy { until: time(8), mode: ImmutabilityMode::Locked }),
        legal_hold: true,
        sequence_number: 5,
        appends: 6,
        is_sealed: true,
        version: 12,
        deleted: Some(Deleted { at: 13, until: 14 }),
        rehydrated: 15,
        accessed: 16,
        ..Revision::new(BlobKind::Append, 7)
    };
    let marks = Marks {
        staged: Some(StagedMarks { horizon: 1, fence: 2, id_bytes: 64, ..StagedMarks::default() }),
        snapshots: SnapshotMarks { count: 1, last: 2, floor: 3 },
        shape: 4,
        kept: KeptMarks {
            floor: 8,
            batch: Some(Deleted { at: 9, until: 10 }),
            restored: 11,
            last_version: 12,
        },
    };
    Head { marks, blob: Some(blob), deleted: None }
}

fn inline() -> Head {
    let blocks = vec![(BlockId::new(b"a").unwrap(), 2), (BlockId::new(b"b").unwrap(), 1)];
    let content = Stored::Inline { bytes: Bytes::from_static(b"xyz"), blocks };
    Head::of(Revision { size: 3, content, ..Revision::new(BlobKind::Block, 1) })
}

fn uncommitted() -> Head {
    let staged = Some(StagedMarks { is_live: true, ..StagedMarks::default() });
    Head { marks: Marks { staged, ..Marks::default() }, ..Head::default() }
}

fn uncommitted_with_lease() -> Head {
    let mut head = uncommitted();
    let lease = Some(Lease { id: Guid([1; 16]), term: Term::Infinite });
    head.marks.staged.iter_mut().for_each(|marks| marks.lease = lease);
    head
}

fn deleted() -> Head {
    let deleted = full().blob.map(Box::new);
    Head { marks: full().marks, blob: None, deleted }
}

#[test]
fn heads_are_read_as_written() {
    for head in [Head::default(), inline(), uncommitted(), uncommitted_with_lease(), full(), deleted()] {
        let bytes = head.encode();
        assert_eq!(Head::is_blob(&bytes), head.blob.is_some());
        let is_uncommitted = head.clone().uncommitted().is_some();
        assert_eq!(Head::is_uncommitted(&bytes), is_uncommitted);
        assert_eq!(Head::has_deleted(&bytes), head.deleted.is_some());
        assert_eq!(Head::has_versions(&bytes), head.marks.kept.last_version > 0);
        assert_eq!(Head::decode(&bytes), Ok(head));
    }
    for term in [Term::Infinite, Term::Breaking { until: time(1) }, Term::Broken] {
        let mut head = inline();
        head.blob.as_mut().unwrap().lease = Some(Lease { term, ..lease() });
        assert_eq!(Head::decode(&head.encode()), Ok(head));
    }
}

/// The stored form. A line here may be added, never changed.
#[test]
fn formats_stay() {
    let bytes = [1, 1, 11, 1, 1, 12, 1, 1, 13, 1, 3, 14, 10, 2, 1, b'a', 2, 1, b'b', 1, b'x', b'y', b'z'];
    assert_eq!(inline().encode(), bytes[..]);
    assert_eq!(uncommitted().encode(), [1, 2, 1, 3, 0, 0, 0][..]);
    assert_eq!(Staged::Inline(Bytes::from_static(b"x")).encode(), [1, 0, b'x'][..]);
    assert_eq!(ContainerData { changed: 5, ..ContainerData::default() }.encode(), [1, 1, 1, 5][..]);
    assert_eq!(ContainerData { may_hold: true, ..ContainerData::default() }.encode(), [1, 7, 1, 1][..]);
}

#[test]
fn damaged_heads_are_errors() {
    let good = full().encode();
    for end in 0..good.len() {
        // A record that ends between two fields is one with fewer fields.
        if let Ok(head) = Head::decode(&good.slice(..end)) {
            assert_ne!(head, full());
        }
    }
    for at in 0..good.len() {
        let mut bad = good.to_vec();
        bad[at] ^= 0xff;
        let _ = Head::decode(&bad.into());
    }
    for unknown in
        [&[2, 0][..], &[1, 4], &[1, 8], &[1, 16], &[1, 0, 9, 0], &[1, 0, 10, 0], &[1, 1, 99, 0], &[1, 2]]
    {
        assert!(Head::decode(&Bytes::copy_from_slice(unknown)).is_err(), "{unknown:?}");
    }
}

#[test]
fn blocks_are_read_as_written() {
    for block in [
        Staged::Inline(Bytes::new()),
        Staged::Inline(Bytes::from_static(b"bytes")),
        Staged::Pieces(vec![piece(), piece()]),
    ] {
        let bytes = block.encode();
        assert_eq!(Staged::decode(bytes.clone()), Ok(block));
        for end in 0..bytes.len() {
            let _ = Staged::decode(bytes.slice(..end));
        }
    }
    assert_eq!(Staged::Pieces(vec![piece(), piece()]).length(), 6);
    assert!(Staged::decode(Bytes::from_static(&[1, 1, 0])).is_err());
    assert!(Staged::decode(Bytes::from_static(&[1, 2])).is_err());
}

#[test]
fn containers_are_read_as_written() {
    let full = ContainerData {
        changed: u64::MAX,
        public_access: PublicAccess::Container,
        metadata: metadata(),
        lease: Some(lease()),
        scope: DefaultScope { name: Some("scope".into()), denies_others: true },
        may_hold: true,
    };
    for data in [ContainerData::default(), full] {
        assert_eq!(ContainerData::decode(&data.encode()), Ok(data));
    }
    assert!(ContainerData::decode(&Bytes::from_static(&[1, 9, 0])).is_err());
}
