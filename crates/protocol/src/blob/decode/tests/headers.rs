//! Headers of blob operations: leases, ranges, checksums, settings, revisions.

use lazuli_model::blob::container::PublicAccess;
use lazuli_model::blob::lease::{LeaseAction, LeaseDuration};
use lazuli_model::blob::operation::{GetBlob, PageSpan, SetProperties};
use lazuli_model::blob::write::{DeleteSnapshots, Digested, SequenceAction};
use lazuli_model::blob::{AccessTier, ByteRange, ContentHeaders, Revision};

use super::*;

const BLOCK: (&str, &str) = ("x-ms-blob-type", "BlockBlob");
const ONE: (&str, &str) = ("Content-Length", "1");
const EMPTY: (&str, &str) = ("Content-Length", "0");
const MD5: &str = "sQqNsWTgdUEFt6mb5y4/5Q==";
const CRC64: &str = "YeJLfssylmU=";

/// LS-01: 15 to 60 seconds or infinite.
#[test]
fn lease_durations() {
    let acquire = |headers: &[(&str, &str)]| {
        let mut all = vec![("x-ms-lease-action", "acquire")];
        all.extend(headers);
        match action("PUT /abc/b?comp=lease", &all)? {
            BlobAction::Lease(LeaseAction::Acquire { duration, .. }) => Ok(duration),
            other => panic!("{other:?}"),
        }
    };
    let lasting = |text: &'static str| acquire(&[("x-ms-lease-duration", text)]);
    assert_eq!(lasting("-1"), Ok(LeaseDuration::Infinite));
    assert_eq!(lasting("15"), Ok(LeaseDuration::Seconds(15)));
    assert_eq!(lasting("60"), Ok(LeaseDuration::Seconds(60)));
    for bad in ["14", "61", "0", "-2", "x", "316"] {
        assert_eq!(lasting(bad), Err(ErrorCode::InvalidHeaderValue), "{bad}");
    }
    assert_eq!(acquire(&[]), Err(ErrorCode::MissingRequiredHeader));
    let old =
        decode_at(ApiVersion::V2011_08_18, "PUT /abc/b?comp=lease", &[("x-ms-lease-action", "acquire")]);
    assert!(old.is_ok(), "leases of the first years took a minute");
}

#[test]
fn lease_headers() {
    let line = "PUT /abc/b?comp=lease";
    let with = |name| ("x-ms-lease-action", name);
    let id = ("x-ms-lease-id", "c9da6455-213d-42c9-9a79-3e9149a57833");
    for name in ["renew", "change", "release"] {
        rejects(line, &[with(name)], ErrorCode::MissingRequiredHeader);
    }
    rejects(line, &[with("change"), id], ErrorCode::MissingRequiredHeader);
    rejects(line, &[with("renew"), ("x-ms-lease-id", "1")], ErrorCode::InvalidHeaderValue);
    rejects(line, &[with("steal")], ErrorCode::InvalidHeaderValue);
    rejects(line, &[], ErrorCode::MissingRequiredHeader);
    rejects(line, &[with("break"), ("x-ms-lease-break-period", "61")], ErrorCode::InvalidHeaderValue);
    let period = ("x-ms-lease-break-period", "0");
    assert_eq!(
        action(line, &[with("break"), period, id]),
        Ok(BlobAction::Lease(LeaseAction::Break { period: Some(0) }))
    );
    assert_eq!(request(line, &[with("renew"), id]).unwrap().lease, None, "the action has the id");
    assert!(request("GET /abc/b", &[id]).unwrap().lease.is_some());
    rejects("GET /abc/b", &[("x-ms-lease-id", "nonsense")], ErrorCode::InvalidHeaderValue);
}

#[test]
fn ranges() {
    let get = |headers: &[(&str, &str)]| match action("GET /abc/b", headers)? {
        BlobAction::Get(get) => Ok(get),
        other => panic!("{other:?}"),
    };
    let range = |first, last| Some(ByteRange { first, last });
    assert_eq!(get(&[]), Ok(GetBlob::default()));
    assert_eq!(get(&[("Range", "bytes=1-2")]).map(|get| get.range), Ok(range(1, Some(2))));
    let both = [("Range", "bytes=1-2"), ("x-ms-range", "bytes=3-")];
    assert_eq!(get(&both).map(|get| get.range), Ok(range(3, None)), "x-ms-range wins");
    assert_eq!(get(&[("Range", "bytes=-5")]).map(|get| get.range), Ok(None));
    let md5 = ("x-ms-range-get-content-md5", "true");
    let crc64 = ("x-ms-range-get-content-crc64", "true");
    assert!(get(&[("Range", "bytes=0-4194303"), md5]).is_ok_and(|get| get.digests.md5));
    assert!(get(&[("Range", "bytes=0-"), crc64]).is_ok_and(|get| get.digests.crc64));
    assert_eq!(get(&[("Range", "bytes=0-4194304"), md5]), Err(ErrorCode::OutOfRangeInput));
    assert_eq!(get(&[md5]), Err(ErrorCode::InvalidHeaderValue));
    let both = [("Range", "bytes=0-1"), md5, crc64];
    assert_eq!(get(&both), Err(ErrorCode::BothCrc64AndMd5RangeHeaderPresent));
}

/// The checksums that are compared, stored and returned.
#[test]
fn checksums_of_put_blob() {
    let put = |headers: &[(&str, &str)]| {
        let mut all = vec![BLOCK, ONE];
        all.extend(headers);
        match action("PUT /abc/b", &all)? {
            BlobAction::PutBlob(body, settings) => Ok((body, settings.headers.content_md5)),
            other => panic!("{other:?}"),
        }
    };
    let (body, stored) = put(&[]).unwrap();
    assert_eq!((body.expected, stored), (Digested::default(), None));
    assert_eq!(body.computed(), Digests { md5: true, crc64: true });
    let (body, stored) = put(&[("Content-MD5", MD5)]).unwrap();
    assert!(body.expected.md5.is_some() && stored.is_some());
    let zero = "AAAAAAAAAAAAAAAAAAAAAA==";
    let (body, stored) = put(&[("Content-MD5", MD5), ("x-ms-blob-content-md5", zero)]).unwrap();
    assert_eq!((body.expected.md5, stored), (Some([0; 16]), Some([0; 16].into())));
    let (body, _) = put(&[("x-ms-content-crc64", CRC64), ("x-ms-blob-content-md5", zero)]).unwrap();
    assert!(body.expected.md5.is_some() && body.expected.crc64.is_some());
    let both = [("Content-MD5", MD5), ("x-ms-content-crc64", CRC64)];
    assert_eq!(put(&both), Err(ErrorCode::BothCrc64AndMd5HeaderPresent));
    assert_eq!(put(&[("Content-MD5", "AAAA")]), Err(ErrorCode::InvalidMd5));
    assert_eq!(put(&[("x-ms-content-crc64", "AAAA")]), Err(ErrorCode::Crc64Mismatch));
}

/// The MD5 is computed only if it is stored, returned or compared: it is by far the most expensive.
#[test]
fn checksums_of_put_block() {
    let needed = |version, headers: &[(&str, &str)]| {
        let mut all = vec![ONE];
        all.extend(headers);
        let (intent, _) = decode_at(version, "PUT /abc/b?comp=block&blockid=MQ%3D%3D", &all).unwrap();
        intent.streams().unwrap().computed()
    };
    let md5 = Digests { md5: true, crc64: false };
    let crc64 = Digests { md5: false, crc64: true };
    assert_eq!(needed(ApiVersion::V2018_11_09, &[]), md5);
    assert_eq!(needed(ApiVersion::V2019_02_02, &[]), crc64);
    assert_eq!(needed(NEW, &[("Content-MD5", MD5)]), md5);
    assert_eq!(needed(ApiVersion::V2026_10_06, &[("Content-MD5", MD5)]), Digests { md5: true, crc64: true });
    assert_eq!(needed(NEW, &[("x-ms-content-crc64", CRC64)]), crc64);
}

#[test]
fn block_ids() {
    let id = |text: &str| match action(&format!("PUT /abc/b?comp=block&blockid={text}"), &[ONE])? {
        BlobAction::PutBlock(id, _) => Ok(id.as_bytes().to_vec()),
        other => panic!("{other:?}"),
    };
    assert_eq!(id("YWJj"), Ok(b"abc".to_vec()));
    assert_eq!(id("++++"), Ok(vec![0xfb, 0xef, 0xbe]), "a plus sign that nobody escaped");
    for bad in ["YWJ", "%21", &"AAAA".repeat(22)] {
        assert_eq!(id(bad), Err(ErrorCode::InvalidQueryParameterValue), "{bad}");
    }
    assert_eq!(id(""), Err(ErrorCode::MissingRequiredQueryParameter));
    let conditional = [ONE, ("If-Match", "*")];
    rejects("PUT /abc/b?comp=block&blockid=YWJj", &conditional, ErrorCode::ConditionHeadersNotSupported);
}

#[test]
fn settings() {
    let headers = [
        BLOCK,
        ONE,
        ("Content-Type", "text/plain"),
        ("Content-Language", "en"),
        ("x-ms-blob-content-language", "de"),
        ("x-ms-meta-Owner", "Ada"),
        ("x-ms-tags", "a=1&b=2"),
        ("x-ms-access-tier", "cool"),
    ];
    let BlobAction::PutBlob(_, settings) = action("PUT /abc/b", &headers).unwrap() else { panic!() };
    assert_eq!(settings.headers.content_type.as_deref(), Some("text/plain"));
    assert_eq!(settings.headers.content_language.as_deref(), Some("de"));
    assert_eq!(settings.metadata.get("owner"), Some("Ada"));
    assert_eq!(settings.tags.len(), 2);
    assert_eq!(settings.tier, Some(AccessTier::Cool));
    // The media type of the document is not that of the blob.
    let BlobAction::PutBlockList(_, settings) =
        action("PUT /abc/b?comp=blocklist", &[("Content-Type", "application/xml")]).unwrap()
    else {
        panic!()
    };
    assert_eq!(settings.headers.content_type.as_deref(), Some("application/octet-stream"));
    rejects("PUT /abc/b", &[BLOCK, ONE, ("x-ms-access-tier", "Lukewarm")], ErrorCode::InvalidHeaderValue);
}

#[test]
fn set_properties() {
    let set = |headers: &[(&str, &str)]| match action("PUT /abc/b?comp=properties", headers)? {
        BlobAction::SetProperties(set) => Ok(*set),
        other => panic!("{other:?}"),
    };
    let cleared = SetProperties { headers: Some(ContentHeaders::default()), ..SetProperties::default() };
    assert_eq!(set(&[]), Ok(cleared));
    let language = set(&[("x-ms-blob-content-language", "de")]).unwrap().headers.unwrap();
    assert_eq!((language.content_type, language.content_language.as_deref()), (None, Some("de")));
    let resize = set(&[("x-ms-blob-content-length", "1024")]).unwrap();
    assert_eq!((resize.headers, resize.size), (None, Some(1024)));
    assert_eq!(set(&[("x-ms-blob-content-length", "1")]), Err(ErrorCode::InvalidHeaderValue));
    let number = ("x-ms-blob-sequence-number", "7");
    for (name, given, expected) in [
        ("max", true, Ok(Some(SequenceAction::Max(7)))),
        ("Update", true, Ok(Some(SequenceAction::Update(7)))),
        ("increment", false, Ok(Some(SequenceAction::Increment))),
        ("increment", true, Err(ErrorCode::InvalidHeaderValue)),
        ("max", false, Err(ErrorCode::MissingRequiredHeader)),
        ("add", false, Err(ErrorCode::InvalidHeaderValue)),
    ] {
        let action = ("x-ms-sequence-number-action", name);
        let headers: &[(&str, &str)] = if given { &[action, number] } else { &[action] };
        assert_eq!(set(headers).map(|set| set.sequence), expected, "{name} {given}");
    }
    assert_eq!(set(&[number]), Err(ErrorCode::MissingRequiredHeader));
}

#[test]
fn revisions() {
    let time = "2011-03-09T01:42:34.9360000Z";
    let moment = DateTime::parse(time).unwrap();
    let read = |query: &str| request(&format!("GET /abc/b?{query}"), &[]).map(|request| request.revision);
    assert_eq!(read(&format!("snapshot={time}")), Ok(Revision::Snapshot(moment)));
    assert_eq!(read(&format!("versionid={time}")), Ok(Revision::Version(moment)));
    for bad in ["snapshot=1", "versionid=x"] {
        assert_eq!(read(bad), Err(ErrorCode::InvalidQueryParameterValue), "{bad}");
    }
    let both = format!("snapshot={time}&versionid={time}");
    assert_eq!(read(&both), Err(ErrorCode::MutuallyExclusiveQueryParameters));
    rejects(&format!("PUT /abc/b?comp=metadata&snapshot={time}"), &[], ErrorCode::InvalidOperation);
    let lease = [("x-ms-lease-action", "break")];
    rejects(&format!("PUT /abc/b?comp=lease&snapshot={time}"), &lease, ErrorCode::InvalidOperation);
    rejects(
        &format!("PUT /abc/b?comp=snapshot&versionid={time}"),
        &[],
        ErrorCode::InvalidQueryParameterValue,
    );
    assert!(request(&format!("DELETE /abc/b?snapshot={time}"), &[]).is_ok());
    let only = [("x-ms-delete-snapshots", "only")];
    rejects(&format!("DELETE /abc/b?snapshot={time}"), &only, ErrorCode::InvalidOperation);
    rejects(&format!("DELETE /abc/b?versionid={time}"), &only, ErrorCode::InvalidQueryParameterValue);
    let delete = |headers: &[(&str, &str)], query: &str| action(&format!("DELETE /abc/b{query}"), headers);
    let expected = |snapshots, is_permanent| Ok(BlobAction::Delete { snapshots, is_permanent });
    assert_eq!(delete(&[], ""), expected(DeleteSnapshots::Unspecified, false));
    assert_eq!(delete(&only, "?deletetype=Permanent"), expected(DeleteSnapshots::Only, true));
    assert_eq!(delete(&[], "?deletetype=x"), Err(ErrorCode::InvalidQueryParameterValue));
}

#[test]
fn pages() {
    let line = "PUT /abc/b?comp=page";
    let write = |mode| ("x-ms-page-write", mode);
    let span = |headers: &[(&str, &str)]| match action(line, headers)? {
        BlobAction::PutPage(span, ..) | BlobAction::ClearPage(span, _) => Ok(span),
        other => panic!("{other:?}"),
    };
    let two = [write("update"), ("Range", "bytes=512-1535"), ("Content-Length", "1024")];
    assert_eq!(span(&two), Ok(PageSpan { offset: 512, length: 1024 }));
    let clear = [write("clear"), ("Range", "bytes=0-1073741823"), EMPTY];
    assert_eq!(span(&clear), Ok(PageSpan { offset: 0, length: 1 << 30 }));
    for (headers, code) in [
        (vec![write("update"), ("Range", "bytes=0-511"), ONE], ErrorCode::InvalidHeaderValue),
        (
            vec![
                write("update"),
                ("Range", "bytes=0-511"),
                ("Content-Length", "512"),
                ("x-ms-if-sequence-number-eq", "-1"),
            ],
            ErrorCode::InvalidInput,
        ),
        (
            vec![write("update"), ("Range", "bytes=1-512"), ("Content-Length", "512")],
            ErrorCode::InvalidPageRange,
        ),
        (vec![write("update"), ("Range", "bytes=0-"), EMPTY], ErrorCode::InvalidHeaderValue),
        (vec![write("update"), EMPTY], ErrorCode::MissingRequiredHeader),
        (vec![("Range", "bytes=0-511"), EMPTY], ErrorCode::MissingRequiredHeader),
        (
            vec![write("clear"), ("Range", "bytes=0-511"), ("Content-Length", "512")],
            ErrorCode::InvalidHeaderValue,
        ),
        (
            vec![write("update"), ("Range", "bytes=0-4194815"), ("Content-Length", "4194816")],
            ErrorCode::RequestBodyTooLarge,
        ),
    ] {
        assert_eq!(span(&headers), Err(code), "{headers:?}");
    }
    let page = [("x-ms-blob-type", "PageBlob"), EMPTY, ("x-ms-blob-content-length", "8796093022720")];
    rejects("PUT /abc/b", &page, ErrorCode::InvalidHeaderValue);
}

#[test]
fn public_access() {
    let access = |headers: &[(&str, &str)]| match intent("PUT /abc?restype=container", headers)? {
        Intent::Ready(Operation::Container(request)) => match request.action {
            ContainerAction::Create { public_access, .. } => Ok(public_access),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(access(&[]), Ok(PublicAccess::None));
    assert_eq!(access(&[("x-ms-blob-public-access", "blob")]), Ok(PublicAccess::Blob));
    assert_eq!(access(&[("x-ms-blob-public-access", "Container")]), Ok(PublicAccess::Container));
    assert_eq!(access(&[("x-ms-blob-public-access", "all")]), Err(ErrorCode::InvalidHeaderValue));
}

/// LS-10: the seven operations that accept the id of a container's lease without requiring it.
#[test]
fn containers_accept_lease_ids() {
    let id = ("x-ms-lease-id", "c9da6455-213d-42c9-9a79-3e9149a57833");
    for line in [
        "GET /abc?restype=container",
        "GET /abc?restype=container&comp=metadata",
        "PUT /abc?restype=container&comp=metadata",
        "GET /abc?restype=container&comp=acl",
        "PUT /abc?restype=container&comp=acl",
        "DELETE /abc?restype=container",
    ] {
        for (headers, given) in [(&[][..], false), (&[id][..], true)] {
            let (Intent::Ready(Operation::Container(request))
            | Intent::Document(Operation::Container(request), _)) = intent(line, headers).unwrap()
            else {
                panic!("{line}")
            };
            assert_eq!(request.lease.is_some(), given, "{line}");
        }
    }
    assert!(intent("GET /abc?restype=container&comp=list", &[id]).is_ok());
}
