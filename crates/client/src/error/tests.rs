//! Errors made from responses of the service.

use super::*;

fn said(status: u16, code: &str, message: &str) -> Error {
    Error::service(Said {
        status,
        code: code.into(),
        message: message.into(),
        request_id: None,
        in_batch: true,
    })
}

/// TX-15, TX-23: the index precedes the message, the request id follows it.
#[test]
fn messages_are_split() {
    for (message, index, text) in [
        ("3:The entity exists.\nRequestId:a\nTime:b", Some(3), "The entity exists."),
        ("The entity exists.\nRequestId:a", None, "The entity exists."),
        ("12: x", Some(12), " x"),
        ("12 x", None, "12 x"),
        (":x", None, ":x"),
        ("99999999999999999999999:x", None, "99999999999999999999999:x"),
        ("", None, ""),
    ] {
        let error = said(400, "InvalidInput", message);
        assert_eq!((error.batch_index(), error.message()), (index, text), "{message}");
        let kind = if index.is_some() { ErrorKind::BatchOperation } else { ErrorKind::Service };
        assert_eq!(error.kind(), kind, "{message}");
    }
}

/// A program whose `main` returns an error prints it in this form.
#[test]
fn debug_output_is_named_error() {
    let shown = format!("{:?}", said(409, "EntityAlreadyExists", "3:It exists."));
    assert!(shown.starts_with("Error { kind: BatchOperation, code: Some(EntityAlreadyExists), "), "{shown}");
}

/// ER-09: based on the table of codes if the code is known, else on the status.
#[test]
fn codes_and_statuses() {
    for (status, code, transient, applied) in [
        (409, "EntityAlreadyExists", false, Applied::No),
        (409, "TableBeingDeleted", true, Applied::No),
        (503, "ServerBusy", true, Applied::No),
        (500, "OperationTimedOut", true, Applied::Unknown),
        (500, "InternalError", true, Applied::Unknown),
        (500, "SomethingNew", true, Applied::Unknown),
        (400, "SomethingNew", false, Applied::No),
        (501, "SomethingNew", false, Applied::No),
        (504, "", true, Applied::Unknown),
    ] {
        let error = said(status, code, "");
        assert_eq!((error.is_transient(), error.applied()), (transient, applied), "{status} {code}");
        assert_eq!(error.code().is_some(), ErrorCode::ALL.iter().any(|known| known.name() == code));
        assert_eq!(error.code_text(), code);
    }
}

#[test]
fn errors_are_small_and_display_all_details() {
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    let mut error = said(409, "EntityAlreadyExists", "1:It exists.");
    error.0.request_id = Some("abc".into());
    let text = "operation 1 of the batch: EntityAlreadyExists: It exists. (status 409, request abc)";
    assert_eq!(error.to_string(), text);
}
