//! Reads: blobs, containers, the account.

use lazuli_model::blob::block::BlockEntry;
use lazuli_model::blob::container::{ContainerProperties, PublicAccess};
use lazuli_model::blob::copy::{CopyInfo, CopyStatus};
use lazuli_model::blob::lease::{LeaseState, LeaseView};
use lazuli_model::blob::outcome::{
    AccountInformation, BlobContent, BlockList, PageRanges, UserDelegationKey,
};
use lazuli_model::blob::protection::VersionInfo;
use lazuli_model::blob::tier::{RehydratePriority, TierInfo};
use lazuli_model::blob::write::Digested;
use lazuli_model::blob::{AccessTier, BlobKind, BlobProperties, BlockId, ResponseExtent, Tags};
use lazuli_model::{Guid, Metadata};

use super::*;
use crate::blob::response_format::Overrides;

fn blob() -> BlobProperties {
    let mut found = BlobProperties::new(BlobKind::Block, 11, stamp());
    found.headers.content_type = Some("text/plain".into());
    found.headers.content_md5 = Some([0; 16].into());
    found.metadata.insert("Owner", "Ada").unwrap();
    found.tier = Some(TierInfo::default());
    found
}

const MD5: &str = "AAAAAAAAAAAAAAAAAAAAAA==";

/// BL-01: reads return the ETag, without quotes in the oldest versions.
#[test]
fn properties_by_version() {
    let blob = || Outcome::Blob(Box::new(blob()));
    check(
        "2009-09-19",
        blob(),
        &[
            "200",
            "Content-Type: text/plain",
            &format!("Content-MD5: {MD5}"),
            LAST_MODIFIED,
            "ETag: 0x8DC123456789ABC",
            "x-ms-blob-type: BlockBlob",
            "x-ms-meta-Owner: Ada",
            "x-ms-lease-status: unlocked",
            "(11 bytes)",
        ],
    );
    check(
        "2014-02-14",
        blob(),
        &[
            "200",
            "Content-Type: text/plain",
            &format!("Content-MD5: {MD5}"),
            LAST_MODIFIED,
            ETAG,
            "Accept-Ranges: bytes",
            "x-ms-blob-type: BlockBlob",
            "x-ms-meta-Owner: Ada",
            "x-ms-lease-status: unlocked",
            "x-ms-lease-state: available",
            "(11 bytes)",
        ],
    );
    check(
        NEW,
        blob(),
        &[
            "200",
            "Content-Type: text/plain",
            &format!("Content-MD5: {MD5}"),
            LAST_MODIFIED,
            ETAG,
            "Accept-Ranges: bytes",
            "x-ms-blob-type: BlockBlob",
            "x-ms-meta-Owner: Ada",
            "x-ms-creation-time: Mon, 06 May 2024 07:08:09 GMT",
            "x-ms-lease-status: unlocked",
            "x-ms-lease-state: available",
            "x-ms-server-encrypted: true",
            "x-ms-access-tier: Hot",
            "x-ms-access-tier-inferred: true",
            "(11 bytes)",
        ],
    );
}

/// Get Blob and Get Blob Properties return the last access time from 2020-02-10 on.
#[test]
fn last_access_by_version() {
    let mut found = blob();
    found.last_accessed = Some(time("2024-05-06"));
    let content = BlobContent {
        properties: found.clone(),
        extent: ResponseExtent::Full,
        digested: Digested::default(),
    };
    for outcome in [Outcome::Blob(Box::new(found)), Outcome::Content(Box::new(content))] {
        let get = |version: &str| {
            let response = super::outcome(&at(version), &ResponseFormat::default(), &outcome);
            response.get("x-ms-last-access-time").map(str::to_owned)
        };
        assert_eq!(get("2020-02-10").as_deref(), Some("Mon, 06 May 2024 00:00:00 GMT"));
        assert_eq!(get("2019-12-12"), None);
    }
}

/// A part has its own MD5 only if it was requested; the header for that of the blob has another name.
#[test]
fn content_and_ranges() {
    let get = |version: &str, extent, digested| {
        let content = BlobContent { properties: blob(), extent, digested };
        super::outcome(&at(version), &ResponseFormat::default(), &Outcome::Content(Box::new(content)))
    };
    let full = get(NEW, ResponseExtent::Full, Digested::default());
    assert_eq!((full.status, full.content_length, full.get("Content-MD5")), (200, Some(11), Some(MD5)));
    assert_eq!((full.get("Content-Range"), full.get("x-ms-access-tier")), (None, None));
    assert_eq!(
        get("2026-10-06", ResponseExtent::Full, Digested::default()).get("x-ms-access-tier"),
        Some("Hot")
    );
    let part = ResponseExtent::Part { first: 2, last: 5 };
    let range = get(NEW, part, Digested::default());
    assert_eq!((range.status, range.content_length), (206, Some(4)));
    assert_eq!(range.get("Content-Range"), Some("bytes 2-5/11"));
    assert_eq!((range.get("Content-MD5"), range.get("x-ms-blob-content-md5")), (None, Some(MD5)));
    assert_eq!(get("2014-02-14", part, Digested::default()).get("x-ms-blob-content-md5"), None);
    let checked = get(NEW, part, Digested { md5: Some([1; 16]), crc64: None });
    assert_eq!(checked.get("Content-MD5"), Some("AQEBAQEBAQEBAQEBAQEBAQ=="));
    let checked = get(NEW, part, Digested { md5: None, crc64: Some([0; 8]) });
    assert_eq!(checked.get("x-ms-content-crc64"), Some("AAAAAAAAAAA="));
}

#[test]
fn overrides_replace_headers() {
    let overrides = Overrides {
        content_type: Some("image/png".into()),
        cache_control: Some("no-cache".into()),
        ..Overrides::default()
    };
    let wanted = ResponseFormat { overrides, ..ResponseFormat::default() };
    let response = super::outcome(&at(NEW), &wanted, &Outcome::Blob(Box::new(blob())));
    assert_eq!(response.get("content-type"), Some("image/png"));
    assert_eq!(response.get("cache-control"), Some("no-cache"));
}

/// LS-07, and the headers of copies, tiers, versions and other kinds of blobs.
#[test]
fn special_properties() {
    let with = |change: fn(&mut BlobProperties)| {
        let mut found = blob();
        change(&mut found);
        super::outcome(&at(NEW), &ResponseFormat::default(), &Outcome::Blob(Box::new(found)))
    };
    let leased = with(|found| {
        found.lease = Some(LeaseView { state: LeaseState::Leased, is_infinite: Some(false) });
    });
    assert_eq!(
        (leased.get("x-ms-lease-status"), leased.get("x-ms-lease-state"), leased.get("x-ms-lease-duration")),
        (Some("locked"), Some("leased"), Some("fixed"))
    );
    let snapshot = with(|found| found.lease = None);
    assert_eq!(snapshot.get("x-ms-lease-status"), None);
    let copied = with(|found| {
        found.copy = Some(CopyInfo {
            id: Guid([0; 16]),
            source: "http://h/dev/c/b".into(),
            status: CopyStatus::Success,
            copied: 11,
            total: 11,
            completed: Some(time("2024-05-06")),
            description: None,
            is_incremental: false,
            destination_snapshot: None,
        });
    });
    assert_eq!(copied.get("x-ms-copy-progress"), Some("11/11"));
    assert_eq!(copied.get("x-ms-copy-completion-time"), Some("Mon, 06 May 2024 00:00:00 GMT"));
    let archived = with(|found| {
        let rehydrating = Some((AccessTier::Cool, RehydratePriority::High));
        found.tier =
            Some(TierInfo { tier: AccessTier::Archive, is_inferred: false, changed: None, rehydrating });
    });
    assert_eq!(archived.get("x-ms-archive-status"), Some("rehydrate-pending-to-cool"));
    assert_eq!(archived.get("x-ms-rehydrate-priority"), Some("High"));
    let versioned = with(|found| {
        found.version = Some(VersionInfo { id: time("2024-05-06"), is_current: true });
        found.tag_count = 2;
    });
    assert_eq!(versioned.get("x-ms-version-id"), Some("2024-05-06T00:00:00.0000000Z"));
    assert_eq!(
        (versioned.get("x-ms-is-current-version"), versioned.get("x-ms-tag-count")),
        (Some("true"), Some("2"))
    );
}

#[test]
fn metadata_has_nothing_else() {
    let mut metadata = Metadata::default();
    metadata.insert("a", "1").unwrap();
    check(NEW, Outcome::Metadata(stamp(), metadata), &["200", LAST_MODIFIED, ETAG, "x-ms-meta-a: 1"]);
}

#[test]
fn block_lists() {
    let block = |id: &[u8]| BlockEntry { id: BlockId::new(id).unwrap(), size: 3 };
    let found = BlockList { blob: Some((stamp(), 3)), committed: Some(vec![block(b"1")]), uncommitted: None };
    let response = super::outcome(&at(NEW), &ResponseFormat::default(), &Outcome::BlockList(Box::new(found)));
    let fields = ["200", "Content-Type: application/xml", LAST_MODIFIED, ETAG, "x-ms-blob-content-length: 3"];
    assert_eq!(head(&response), fields);
    assert!(!body(&response).contains("Uncommitted"));
    let found = BlockList { blob: None, committed: None, uncommitted: Some(vec![]) };
    check(NEW, Outcome::BlockList(Box::new(found)), &["200", "Content-Type: application/xml"]);
}

#[test]
fn tags_and_pages() {
    let mut tags = Tags::default();
    tags.insert("k", "v").unwrap();
    let response = super::outcome(&at(NEW), &ResponseFormat::default(), &Outcome::Tags(tags));
    assert_eq!(body(&response), "\n<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>");
    let ranges = vec![(0, 511, false), (512, 1023, true)];
    let pages = PageRanges { stamp: stamp(), size: 1024, ranges, next: None, is_paged: false };
    let response =
        super::outcome(&at(NEW), &ResponseFormat::default(), &Outcome::PageRanges(Box::new(pages)));
    assert_eq!(
        body(&response),
        "<PageList><PageRange><Start>0</Start><End>511</End></PageRange><ClearRange><Start>512</Start><End>1023</End></ClearRange></PageList>"
    );
    assert_eq!(response.get("x-ms-blob-content-length"), Some("1024"));
    // The last page of results says that there is no more.
    let pages = PageRanges { stamp: stamp(), size: 0, ranges: vec![], next: None, is_paged: true };
    let response =
        super::outcome(&at(NEW), &ResponseFormat::default(), &Outcome::PageRanges(Box::new(pages)));
    assert_eq!(body(&response), "<PageList><NextMarker /></PageList>");
}

/// BL-05.
#[test]
fn containers() {
    let mut found = ContainerProperties::new(stamp());
    found.public_access = PublicAccess::Blob;
    let container = || Outcome::Container(Box::new(found.clone()));
    let old = ["200", LAST_MODIFIED, ETAG, "x-ms-lease-status: unlocked", "x-ms-lease-state: available"];
    check("2014-02-14", container(), &old);
    check(
        NEW,
        container(),
        &[
            "200",
            LAST_MODIFIED,
            ETAG,
            "x-ms-lease-status: unlocked",
            "x-ms-lease-state: available",
            "x-ms-blob-public-access: blob",
            "x-ms-default-encryption-scope: $account-encryption-key",
            "x-ms-deny-encryption-scope-override: false",
            "x-ms-has-immutability-policy: false",
            "x-ms-has-legal-hold: false",
            "x-ms-immutable-storage-with-versioning-enabled: false",
        ],
    );
    let acl = Outcome::ContainerAcl(stamp(), PublicAccess::Container, vec![]);
    let fields =
        ["200", "Content-Type: application/xml", LAST_MODIFIED, ETAG, "x-ms-blob-public-access: container"];
    check("2014-02-14", acl, &fields);
}

#[test]
fn accounts() {
    let information = || Outcome::AccountInformation(AccountInformation::default());
    check(
        "2018-11-09",
        information(),
        &["200", "x-ms-sku-name: Standard_LRS", "x-ms-account-kind: StorageV2"],
    );
    assert_eq!(
        super::outcome(&at(NEW), &ResponseFormat::default(), &information()).get("x-ms-is-hns-enabled"),
        Some("false")
    );
    let key = UserDelegationKey {
        object_id: "o".into(),
        tenant_id: "t".into(),
        start: time("2024-05-06"),
        expiry: time("2024-05-07"),
        value: [0; 32],
    };
    assert!(!format!("{key:?}").contains('0'), "the key does not show");
    let response =
        super::outcome(&at(NEW), &ResponseFormat::default(), &Outcome::UserDelegationKey(Box::new(key)));
    assert_eq!(
        body(&response),
        "<UserDelegationKey><SignedOid>o</SignedOid><SignedTid>t</SignedTid><SignedStart>2024-05-06T00:00:00Z</SignedStart><SignedExpiry>2024-05-07T00:00:00Z</SignedExpiry><SignedService>b</SignedService><SignedVersion>2021-08-06</SignedVersion><Value>AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=</Value></UserDelegationKey>"
    );
}
