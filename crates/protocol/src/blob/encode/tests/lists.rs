//! Listings: element order and presence by version.

use lazuli_model::blob::container::{ContainerProperties, PublicAccess};
use lazuli_model::blob::list::{
    BlobEntry, BlobItem, BlobPage, BlobPosition, ContainerItem, ContainerPage, FoundBlob, FoundPage, Include,
    ListedState,
};
use lazuli_model::blob::protection::DeletedInfo;
use lazuli_model::blob::tier::TierInfo;
use lazuli_model::blob::{BlobKind, BlobProperties, Revision, Tags};

use super::*;
use crate::blob::response_format::Listing;

fn blob() -> BlobProperties {
    let mut found = BlobProperties::new(BlobKind::Block, 3, stamp());
    found.headers.content_type = Some("text/plain".into());
    found.tier = Some(TierInfo::default());
    found
}

fn item(name: &str, revision: Revision, found: BlobProperties) -> BlobEntry {
    let state = ListedState::Committed(Box::new(found));
    BlobEntry::Blob(BlobItem { name: name.into(), revision, state, tags: None, has_versions_only: None })
}

fn list(version: &str, listing: Listing, entries: Vec<BlobEntry>) -> String {
    let listing = Listing { container: "abc".parse().ok(), ..listing };
    let wanted = ResponseFormat { listing: Some(Box::new(listing)), ..ResponseFormat::default() };
    let page = BlobPage { entries, next: None };
    body(&super::outcome(&at(version), &wanted, &Outcome::Blobs(page))).to_owned()
}

/// Everything but the entries.
fn wrap(entries: &str) -> String {
    format!(
        "<EnumerationResults ServiceEndpoint=\"http://127.0.0.1:10000/dev/\" ContainerName=\"abc\"><Blobs>{entries}</Blobs><NextMarker /></EnumerationResults>"
    )
}

const TIME: &str = "Mon, 06 May 2024 07:08:09 GMT";

/// BL-09: the entries by version. The ETag has no quotes here, unlike in headers.
#[test]
fn blobs_by_version() {
    let of = |version| list(version, Listing::default(), vec![item("b", Revision::Current, blob())]);
    let stamp = format!("<Last-Modified>{TIME}</Last-Modified><Etag>0x8DC123456789ABC</Etag>");
    let content = "<Content-Length>3</Content-Length><Content-Type>text/plain</Content-Type><Content-Encoding /><Content-Language />";
    let rest = "<Content-MD5 /><Cache-Control /><Content-Disposition /><BlobType>BlockBlob</BlobType>";
    let tier = "<AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>";
    let lease = "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>";
    let encrypted = "<ServerEncrypted>true</ServerEncrypted>";
    let created = format!("<Creation-Time>{TIME}</Creation-Time>");
    let entry = |properties: String, end: &str| {
        wrap(&format!("<Blob><Name>b</Name><Properties>{properties}</Properties>{end}</Blob>"))
    };
    assert_eq!(of("2014-02-14"), entry(format!("{stamp}{content}{rest}{lease}"), ""));
    assert_eq!(of("2017-04-17"), entry(format!("{stamp}{content}{rest}{lease}{encrypted}"), ""));
    let properties = format!("{created}{stamp}{content}{rest}{tier}{lease}{encrypted}");
    assert_eq!(of("2018-11-09"), entry(properties, ""));
    let properties = format!("{created}{stamp}{content}<Content-CRC64 />{rest}{tier}{lease}{encrypted}");
    assert_eq!(of("2019-02-02"), entry(properties.clone(), ""));
    assert_eq!(of(NEW), entry(properties, "<OrMetadata />"));
}

/// The last access time has its position among the content headers, from 2020-02-10 on.
#[test]
fn last_access_by_version() {
    let mut found = blob();
    found.last_accessed = Some(time("2024-05-06"));
    let of = |version| {
        let entries = vec![item("b", Revision::Current, found.clone())];
        list(version, Listing::default(), entries)
    };
    let element = "<LastAccessTime>Mon, 06 May 2024 00:00:00 GMT</LastAccessTime>";
    let expected = format!("<Content-Disposition />{element}<BlobType>BlockBlob</BlobType>");
    assert!(of("2020-02-10").contains(&expected), "{}", of("2020-02-10"));
    assert!(!of("2019-12-12").contains("LastAccessTime"));
}

#[test]
fn the_oldest_form_has_urls() {
    let text = list("2012-02-12", Listing::default(), vec![item("a b/c", Revision::Current, blob())]);
    let start = "<EnumerationResults ContainerName=\"http://127.0.0.1:10000/dev/abc\"><Blobs><Blob><Name>a b/c</Name><Url>http://127.0.0.1:10000/dev/abc/a%20b%2Fc</Url><Properties>";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn snapshots_deleted_and_uncommitted_blobs() {
    let mut snapshot = blob();
    snapshot.lease = None;
    let mut deleted = blob();
    deleted.deleted = Some(DeletedInfo { time: time("2024-05-06"), remaining_days: 1 });
    let uncommitted = BlobItem {
        name: "u".into(),
        revision: Revision::Current,
        state: ListedState::Uncommitted(BlobKind::Block),
        tags: None,
        has_versions_only: None,
    };
    let entries = vec![
        item("s", Revision::Snapshot(time("2024-05-06")), snapshot),
        item("t", Revision::Current, deleted),
        BlobEntry::Blob(uncommitted),
        BlobEntry::Prefix("v/".into()),
    ];
    let text = list("2019-02-02", Listing::default(), entries);
    let parts: Vec<&str> = text.split("<Blob>").collect();
    assert!(
        parts[1].starts_with("<Name>s</Name><Snapshot>2024-05-06T00:00:00.0000000Z</Snapshot><Properties>")
    );
    assert!(!parts[1].contains("Lease"), "{}", parts[1]);
    assert!(parts[2].starts_with("<Name>t</Name><Deleted>true</Deleted><Properties>"));
    let end = "<LeaseStatus /><ServerEncrypted>true</ServerEncrypted><DeletedTime>Mon, 06 May 2024 00:00:00 GMT</DeletedTime><RemainingRetentionDays>1</RemainingRetentionDays></Properties></Blob>";
    assert!(parts[2].ends_with(end), "{}", parts[2]);
    assert_eq!(
        parts[3],
        "<Name>u</Name><Properties><Content-Length>0</Content-Length><BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred><LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState><ServerEncrypted>false</ServerEncrypted></Properties></Blob><BlobPrefix><Name>v/</Name></BlobPrefix></Blobs><NextMarker /></EnumerationResults>"
    );
}

#[test]
fn metadata_and_tags_come_if_asked_for() {
    let entry = || {
        let mut found = blob();
        found.metadata.insert("Owner", "A&B").unwrap();
        found.tag_count = 1;
        let mut tags = Tags::default();
        tags.insert("k", "v").unwrap();
        let state = ListedState::Committed(Box::new(found));
        vec![BlobEntry::Blob(BlobItem {
            name: "b".into(),
            revision: Revision::Current,
            state,
            tags: Some(tags),
            has_versions_only: None,
        })]
    };
    let include = Include { metadata: true, tags: true, ..Include::default() };
    let text = list(NEW, Listing { include, ..Listing::default() }, entry());
    let end = "<ServerEncrypted>true</ServerEncrypted><TagCount>1</TagCount></Properties><Metadata><Owner>A&amp;B</Owner></Metadata><Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags><OrMetadata /></Blob>";
    assert!(text.contains(end), "{text}");
    let plain = list(NEW, Listing::default(), entry());
    assert!(!plain.contains("<Metadata>") && !plain.contains("<Tags>"), "{plain}");
}

/// As in a recording of the JavaScript SDK's tests: before the properties, which are those of the latest
/// version.
#[test]
fn deleted_blobs_with_versions_are_marked() {
    let of = |has_versions_only| {
        let state = ListedState::Committed(Box::new(blob()));
        let item =
            BlobItem { name: "b".into(), revision: Revision::Current, state, tags: None, has_versions_only };
        list(NEW, Listing::default(), vec![BlobEntry::Blob(item)])
    };
    assert!(of(Some(true)).contains("<Name>b</Name><HasVersionsOnly>true</HasVersionsOnly><Properties>"));
    assert!(of(Some(false)).contains("<Name>b</Name><HasVersionsOnly>false</HasVersionsOnly><Properties>"));
    assert!(!of(None).contains("HasVersionsOnly"));
}

#[test]
fn names_that_xml_cannot_hold() {
    let of = |version| list(version, Listing::default(), vec![BlobEntry::Prefix("a/\u{ffff}".into())]);
    assert!(of(NEW).contains("<Name Encoded=\"true\">a%2F%EF%BF%BF</Name>"));
    assert!(of("2020-10-02").contains("<Name>a/&#xFFFF;</Name>"));
}

#[test]
fn parameters_are_repeated_in_order() {
    let listing = Listing {
        prefix: Some("p".into()),
        marker: Some(String::new()),
        max_results: Some("1".into()),
        delimiter: Some("/".into()),
        ..Listing::default()
    };
    let wanted = ResponseFormat { listing: Some(Box::new(listing)), ..ResponseFormat::default() };
    let next = Some(BlobPosition { name: "x".into(), revision: None });
    let page = BlobPage { entries: vec![], next };
    let response = super::outcome(&at(NEW), &wanted, &Outcome::Blobs(page));
    let text = body(&response);
    assert!(text.contains("<Prefix>p</Prefix><Marker /><MaxResults>1</MaxResults><Delimiter>/</Delimiter><Blobs /><NextMarker>2!3!Cng<"), "{text}");
}

/// BL-05. The ETag of a container is quoted.
#[test]
fn containers() {
    let mut found = ContainerProperties::new(stamp());
    found.public_access = PublicAccess::Blob;
    let items = vec![ContainerItem { name: "abc".into(), properties: found }];
    let of = |version: &str| {
        let page = ContainerPage { items: items.clone(), next: Some("abd".into()) };
        body(&super::outcome(&at(version), &ResponseFormat::default(), &Outcome::Containers(page))).to_owned()
    };
    let wrap = |properties: &str| {
        format!(
            "<EnumerationResults ServiceEndpoint=\"http://127.0.0.1:10000/dev/\"><Containers><Container><Name>abc</Name><Properties><Last-Modified>{TIME}</Last-Modified><Etag>\"0x8DC123456789ABC\"</Etag><LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>{properties}</Properties></Container></Containers><NextMarker>/dev/abd</NextMarker></EnumerationResults>"
        )
    };
    assert_eq!(of("2014-02-14"), wrap(""));
    assert_eq!(of("2017-04-17"), wrap("<PublicAccess>blob</PublicAccess>"));
    let access = "<PublicAccess>blob</PublicAccess>";
    let immutable = "<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold>";
    let scope = "<DefaultEncryptionScope>$account-encryption-key</DefaultEncryptionScope><DenyEncryptionScopeOverride>false</DenyEncryptionScopeOverride>";
    assert_eq!(of("2018-11-09"), wrap(&format!("{access}{immutable}")));
    assert_eq!(of("2019-02-02"), wrap(&format!("{access}{scope}{immutable}")));
    let versioned = "<ImmutableStorageWithVersioningEnabled>false</ImmutableStorageWithVersioningEnabled>";
    assert_eq!(of(NEW), wrap(&format!("{access}{scope}{immutable}{versioned}")));
}

#[test]
fn searches() {
    let mut tags = Tags::default();
    tags.insert("k", "v").unwrap();
    let page =
        FoundPage { items: vec![FoundBlob { container: "abc".into(), blob: "b".into(), tags }], next: None };
    let listing =
        Listing { filter: Some("k='v'".into()), max_results: Some("2".into()), ..Listing::default() };
    let wanted = ResponseFormat { listing: Some(Box::new(listing)), ..ResponseFormat::default() };
    let response = super::outcome(&at(NEW), &wanted, &Outcome::Found(page));
    assert_eq!(
        body(&response),
        "\n<EnumerationResults ServiceEndpoint=\"http://127.0.0.1:10000/dev/\"><Where>k='v'</Where><MaxResults>2</MaxResults><Blobs><Blob><Name>b</Name><ContainerName>abc</ContainerName><Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags></Blob></Blobs><NextMarker /></EnumerationResults>"
    );
}
