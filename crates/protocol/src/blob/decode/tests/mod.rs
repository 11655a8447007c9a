//! Requests in text form, and the operations that they decode to.

mod copies;
mod dispatch;
mod headers;
mod lists;

use lazuli_model::DateTime;
use lazuli_model::blob::operation::{BlobAction, BlobRequest};

use super::*;
use crate::http::head::Field;

const NEW: ApiVersion = ApiVersion::V2021_02_12;

/// Decodes `METHOD /path?query` with headers, sent to the account `dev` in path style.
fn decode_at(
    version: ApiVersion,
    line: &str,
    headers: &[(&str, &str)],
) -> Result<(Intent, ResponseFormat), Failure> {
    let (method, path) = line.split_once(' ').unwrap();
    let target = format!("/dev{path}");
    let mut fields = vec![Field { name: "Host", value: "127.0.0.1:10000" }];
    fields.extend(headers.iter().map(|&(name, value)| Field { name, value }));
    let head = Head { method, target: &target, fields: &fields };
    let is_account = |name: &str| name == "dev";
    let address = Address::parse(&head, Service::Blob, is_account).unwrap();
    super::decode(&head, &address, version, &is_account)
}

fn intent(line: &str, headers: &[(&str, &str)]) -> Result<Intent, ErrorCode> {
    decode_at(NEW, line, headers).map(|(intent, _)| intent).map_err(|failure| failure.code)
}

fn request(line: &str, headers: &[(&str, &str)]) -> Result<Box<BlobRequest>, ErrorCode> {
    match intent(line, headers)? {
        Intent::Ready(Operation::Blob(request)) | Intent::Document(Operation::Blob(request), _) => {
            Ok(request)
        }
        other => panic!("{line}: {other:?}"),
    }
}

fn action(line: &str, headers: &[(&str, &str)]) -> Result<BlobAction, ErrorCode> {
    request(line, headers).map(|request| request.action)
}

#[track_caller]
fn rejects(line: &str, headers: &[(&str, &str)], code: ErrorCode) {
    assert_eq!(intent(line, headers), Err(code), "{line} {headers:?}");
}
