//! Writes: ETags, checksums, and the headers of leases.

use lazuli_model::Guid;
use lazuli_model::blob::copy::CopyStatus;
use lazuli_model::blob::outcome::Written;
use lazuli_model::blob::protection::EncryptionView;
use lazuli_model::blob::write::Digested;

use super::*;

const CRC64: Digested = Digested { md5: None, crc64: Some([0; 8]) };
const MD5: Digested = Digested { md5: Some([0; 16]), crc64: None };
const ENCRYPTED: &str = "x-ms-request-server-encrypted: true";
const MD5_FIELD: &str = "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==";
const CRC64_FIELD: &str = "x-ms-content-crc64: AAAAAAAAAAA=";

fn written(digested: Digested) -> Box<Written> {
    Box::new(Written { digested, ..Written::new(stamp()) })
}

/// BL-06: the operations that return an ETag.
#[test]
fn writes_by_version() {
    check("2014-02-14", Outcome::Created(written(MD5)), &["201", LAST_MODIFIED, ETAG, MD5_FIELD]);
    let both = Digested { md5: MD5.md5, crc64: CRC64.crc64 };
    let created = ["201", LAST_MODIFIED, ETAG, MD5_FIELD, CRC64_FIELD, ENCRYPTED];
    check(NEW, Outcome::Created(written(both)), &created);
    let view = EncryptionView::default;
    check(NEW, Outcome::BlockPut(CRC64, view()), &["201", CRC64_FIELD, ENCRYPTED]);
    check("2014-02-14", Outcome::BlockPut(MD5, view()), &["201", MD5_FIELD]);
    check(NEW, Outcome::MetadataSet(written(Digested::default())), &["200", LAST_MODIFIED, ETAG, ENCRYPTED]);
    let updated = Outcome::PropertiesUpdated { stamp: stamp(), sequence_number: Some(7) };
    check(NEW, updated, &["200", LAST_MODIFIED, ETAG, "x-ms-blob-sequence-number: 7"]);
    check(NEW, Outcome::Deleted { is_permanent: true }, &["202", "x-ms-delete-type-permanent: true"]);
    check("2017-04-17", Outcome::Deleted { is_permanent: true }, &["202"]);
    check(NEW, Outcome::CopyAborted, &["204"]);
    check(NEW, Outcome::TagsSet, &["204"]);
    check(NEW, Outcome::TierSet { is_pending: true }, &["202"]);
    check(NEW, Outcome::TierSet { is_pending: false }, &["200"]);
    check(NEW, Outcome::Undeleted, &["200"]);
    check(NEW, Outcome::Sealed(stamp()), &["200", LAST_MODIFIED, ETAG, "x-ms-blob-sealed: true"]);
}

/// BL-05: the operations that return an ETag.
#[test]
fn containers() {
    check(NEW, Outcome::ContainerCreated(stamp()), &["201", LAST_MODIFIED, ETAG]);
    check(NEW, Outcome::ContainerUpdated(stamp()), &["200", LAST_MODIFIED, ETAG]);
    check(NEW, Outcome::ContainerDeleted, &["202"]);
    check(NEW, Outcome::ContainerRestored, &["201"]);
    check(NEW, Outcome::PropertiesSet, &["202"]);
}

/// The checksum of Put Block List is that of the document in the request.
#[test]
fn block_lists_return_the_checksum_of_the_document() {
    let wanted = ResponseFormat { document: CRC64, ..ResponseFormat::default() };
    let response = super::outcome(&at(NEW), &wanted, &Outcome::Created(written(Digested::default())));
    assert_eq!(head(&response), ["201", LAST_MODIFIED, ETAG, CRC64_FIELD, ENCRYPTED]);
}

#[test]
fn other_kinds() {
    let appended = Outcome::Appended { written: written(CRC64), offset: 7, committed_blocks: 2 };
    check(
        NEW,
        appended,
        &[
            "201",
            LAST_MODIFIED,
            ETAG,
            CRC64_FIELD,
            ENCRYPTED,
            "x-ms-blob-append-offset: 7",
            "x-ms-blob-committed-block-count: 2",
        ],
    );
    let pages = Outcome::PagesWritten { written: written(MD5), sequence_number: 3 };
    let fields = ["201", LAST_MODIFIED, ETAG, MD5_FIELD, ENCRYPTED, "x-ms-blob-sequence-number: 3"];
    check(NEW, pages, &fields);
    let cleared = Outcome::PagesCleared { stamp: stamp(), sequence_number: 3 };
    check(NEW, cleared, &["201", LAST_MODIFIED, ETAG, "x-ms-blob-sequence-number: 3"]);
}

#[test]
fn copies_and_snapshots() {
    let copied = Outcome::Copied {
        written: written(Digested::default()),
        id: Guid([0; 16]),
        status: CopyStatus::Success,
        is_sync: false,
    };
    let id = "x-ms-copy-id: 00000000-0000-0000-0000-000000000000";
    check(NEW, copied, &["202", LAST_MODIFIED, ETAG, id, "x-ms-copy-status: success"]);
    let scope = Some("first".to_owned());
    for (is_sync, expected) in [(true, Some("x-ms-encryption-scope: first")), (false, None)] {
        let encryption = EncryptionView { scope: scope.clone(), ..EncryptionView::default() };
        let copied = Outcome::Copied {
            written: Box::new(Written { encryption, ..*written(Digested::default()) }),
            id: Guid([0; 16]),
            status: CopyStatus::Success,
            is_sync,
        };
        let fields =
            ["202", LAST_MODIFIED, ETAG, id, "x-ms-copy-status: success"].into_iter().chain(expected);
        check(NEW, copied, &fields.collect::<Vec<_>>());
    }
    let made =
        || Outcome::SnapshotMade { written: written(Digested::default()), snapshot: time("2024-05-06") };
    let snapshot = "x-ms-snapshot: 2024-05-06T00:00:00.0000000Z";
    check("2017-04-17", made(), &["201", LAST_MODIFIED, ETAG, snapshot]);
    check(NEW, made(), &["201", LAST_MODIFIED, ETAG, "x-ms-request-server-encrypted: false", snapshot]);
}

/// BL-08: lease operations return the ETag, which they do not change.
#[test]
fn leases() {
    let id = Guid([0; 16]);
    let field = "x-ms-lease-id: 00000000-0000-0000-0000-000000000000";
    for (reply, expected) in [
        (LeaseReply::Acquired(id), vec!["201", field]),
        (LeaseReply::Renewed(id), vec!["200", field]),
        (LeaseReply::Changed(id), vec!["200", field]),
        (LeaseReply::Released, vec!["200"]),
        (LeaseReply::Broken(59), vec!["202", "x-ms-lease-time: 59"]),
    ] {
        let expected: Vec<&str> = expected.into_iter().chain([LAST_MODIFIED, ETAG]).collect();
        check(NEW, Outcome::Leased(stamp(), reply), &expected);
    }
}
