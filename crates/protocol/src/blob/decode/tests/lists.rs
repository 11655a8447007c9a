//! Listings: options, markers, and the parameters that responses repeat.

use lazuli_model::blob::list::{BlobPosition, ListBlobs, ListContainers};

use super::*;
use crate::blob::marker;

fn blobs(query: &str) -> Result<ListBlobs, ErrorCode> {
    match intent(&format!("GET /abc?restype=container&comp=list{query}"), &[])? {
        Intent::Ready(Operation::Container(request)) => match request.action {
            ContainerAction::ListBlobs(list) => Ok(*list),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn containers(query: &str) -> Result<ListContainers, ErrorCode> {
    match intent(&format!("GET /?comp=list{query}"), &[])? {
        Intent::Ready(Operation::ListContainers(list)) => Ok(list),
        other => panic!("{other:?}"),
    }
}

/// BL-09: prefix, delimiter, start.
#[test]
fn options() {
    let plain = blobs("").unwrap();
    assert_eq!((plain.prefix.as_str(), plain.delimiter, plain.max_results), ("", None, 5000));
    let full = blobs("&prefix=a%2F&delimiter=%2F&startFrom=a%2Fm&endBefore=a%2Fx&maxresults=7").unwrap();
    assert_eq!((full.prefix.as_str(), full.delimiter.as_deref()), ("a/", Some("/")));
    assert_eq!((full.start_from.as_deref(), full.end_before.as_deref()), (Some("a/m"), Some("a/x")));
    assert_eq!(full.max_results, 7);
    assert_eq!(blobs("&delimiter=").unwrap().delimiter, None);
}

#[test]
fn page_sizes() {
    for (text, expected) in
        [("", Ok(5000)), ("1", Ok(1)), ("5001", Ok(5000)), ("99999999999999999999", Ok(5000))]
    {
        assert_eq!(blobs(&format!("&maxresults={text}")).map(|list| list.max_results), expected, "{text}");
    }
    for text in ["0", "-1", "-99999999999999999999"] {
        assert_eq!(
            blobs(&format!("&maxresults={text}")),
            Err(ErrorCode::OutOfRangeQueryParameterValue),
            "{text}"
        );
    }
    for text in ["x", "-", "1.5", "%2B1"] {
        assert_eq!(
            containers(&format!("&maxresults={text}")),
            Err(ErrorCode::InvalidQueryParameterValue),
            "{text}"
        );
    }
}

/// Several SDKs send an empty list; commas may be escaped, and the parameter repeated.
#[test]
fn included_parts() {
    let all = "snapshots,metadata,uncommittedblobs,copy,deleted,tags,versions,deletedwithversions,immutabilitypolicy,legalhold,permissions";
    for query in [
        format!("&include={all}"),
        format!("&include={}", all.replace(',', "%2C")),
        format!("&include={}", all.replace(',', "&include=")),
    ] {
        let include = blobs(&query).unwrap().include;
        assert!(include.snapshots && include.metadata && include.uncommitted && include.copy, "{query}");
        assert!(include.deleted && include.tags && include.versions && include.permissions, "{query}");
        assert!(include.deleted_with_versions && include.immutability && include.legal_hold, "{query}");
    }
    assert!(blobs("&include=").is_ok() && blobs("&include=,").is_ok());
    assert_eq!(blobs("&include=everything"), Err(ErrorCode::InvalidQueryParameterValue));
    assert_eq!(blobs("&delimiter=/&include=snapshots"), Err(ErrorCode::InvalidQueryParameterValue));
    let list = containers("&include=metadata%2Cdeleted%2Csystem").unwrap();
    assert!(list.has_metadata && list.has_deleted && list.has_system);
    assert_eq!(containers("&include=snapshots"), Err(ErrorCode::InvalidQueryParameterValue));
}

#[test]
fn markers() {
    let position = BlobPosition { name: "a/ü".into(), revision: None };
    let marker = marker::encode_blob(&position);
    assert_eq!(blobs(&format!("&marker={marker}")).unwrap().from, Some(position));
    assert_eq!(blobs("&marker=").unwrap().from, None);
    assert_eq!(blobs("&marker=x"), Err(ErrorCode::OutOfRangeInput));
    assert_eq!(containers("&marker=%2Fdev%2Fmnt").unwrap().from.as_deref(), Some("mnt"));
}

#[test]
fn responses_repeat_parameters() {
    let (_, wanted) =
        decode_at(NEW, "GET /abc?restype=container&comp=list&prefix=&maxresults=7&delimiter=%2F", &[])
            .unwrap();
    let listing = wanted.listing.unwrap();
    assert_eq!(listing.container.as_ref().map(ContainerName::as_str), Some("abc"));
    assert_eq!((listing.prefix.as_deref(), listing.marker), (Some(""), None));
    assert_eq!((listing.max_results.as_deref(), listing.delimiter.as_deref()), (Some("7"), Some("/")));
}

#[test]
fn searches() {
    assert!(intent("GET /?comp=blobs&where=%40container%3D'c'%20AND%20a%3D'b'", &[]).is_ok());
    rejects("GET /?comp=blobs", &[], ErrorCode::MissingRequiredQueryParameter);
    rejects("GET /?comp=blobs&where=a", &[], ErrorCode::InvalidQueryParameterValue);
}

/// Overrides have an effect only in a signed URL, and cannot inject other headers.
#[test]
fn overrides() {
    let wanted = |query: &str| decode_at(NEW, &format!("GET /abc/b?{query}"), &[]).unwrap().1;
    let signed = wanted("sig=x&rscc=no-cache&rsct=text%2Fhtml&rscd=a%0D%0Ab");
    assert_eq!(signed.overrides.cache_control.as_deref(), Some("no-cache"));
    assert_eq!(signed.overrides.content_type.as_deref(), Some("text/html"));
    assert_eq!(signed.overrides.content_disposition, None);
    assert_eq!(wanted("rsct=text%2Fhtml").overrides.content_type, None);
}
