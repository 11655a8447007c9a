//! Operations that use XML, selected by `comp` and `restype`.

use super::*;

#[track_caller]
fn asks(method: &str, target: &str, version: &str, expected: Result<XmlIntent, ErrorCode>) {
    let fields = [crate::http::head::Field { name: "host", value: "h" }];
    let head = Head { method, target, fields: &fields };
    let address = Address::parse(&head, Service::Table, |_| false).unwrap();
    assert!(is_asked_for(&address), "{target}");
    let version = ApiVersion::parse(version).unwrap();
    assert_eq!(intent(&head, &address, version).map_err(|f| f.code), expected, "{method} {target}");
}

#[test]
fn requests_name_their_operations() {
    let table = || TableName::new("abc").unwrap();
    let parameter = || Err(ErrorCode::InvalidQueryParameterValue);
    let ready = |operation| Ok(XmlIntent::Ready(operation));
    let new = "2019-02-02";
    asks("GET", "/dev/abc?comp=acl", new, ready(Operation::GetAcl(table())));
    asks("HEAD", "/dev/abc()?comp=acl", new, ready(Operation::GetAcl(table())));
    asks("PUT", "/dev/abc?comp=acl", new, Ok(XmlIntent::SetAcl(table())));
    asks("PUT", "/dev/abc?comp=acl", "2011-08-18", parameter());
    asks("POST", "/dev/abc?comp=acl", new, Err(ErrorCode::UnsupportedHttpVerb));
    asks("GET", "/dev/a_b?comp=acl", new, Err(ErrorCode::InvalidResourceName));
    asks("GET", "/dev/ab?comp=acl", new, Err(ErrorCode::OutOfRangeInput));
    asks("GET", "/dev/Tables?comp=acl", new, parameter());
    asks("GET", "/dev/abc?comp=list", new, parameter());
    asks("GET", "/dev?comp=properties", new, parameter());
    asks("GET", "/dev/?restype=service&comp=properties", new, ready(Operation::GetProperties));
    asks("PUT", "/dev/?comp=properties&restype=service", new, Ok(XmlIntent::SetProperties));
    asks("DELETE", "/dev/?comp=properties&restype=service", new, Err(ErrorCode::UnsupportedHttpVerb));
    asks("GET", "/dev/abc?restype=service&comp=properties", new, parameter());
    asks("GET", "/dev/?restype=service", new, parameter());
    asks("GET", "/dev/?restype=service&comp=stats", new, parameter());
    asks("GET", "/dev-secondary/?restype=service&comp=stats", new, ready(Operation::GetStats));
}
