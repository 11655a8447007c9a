//! What an answer of the service becomes.

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

/// TX-15, TX-23: the index stands before the text, the request id behind it.
#[test]
fn messages_are_taken_apart() {
    for (message, index, text) in [
        ("3:The entity is there.\nRequestId:a\nTime:b", Some(3), "The entity is there."),
        ("The entity is there.\nRequestId:a", None, "The entity is there."),
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

/// A program whose `main` ends with an error shows it in this form.
#[test]
fn shown_under_its_own_name() {
    let shown = format!("{:?}", said(409, "EntityAlreadyExists", "3:It is there."));
    assert!(shown.starts_with("Error { kind: BatchOperation, code: Some(EntityAlreadyExists), "), "{shown}");
}

/// ER-09: by the table of codes where the code is known, else by the status.
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
fn errors_are_small_and_read_well() {
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    let mut error = said(409, "EntityAlreadyExists", "1:It is there.");
    error.0.request_id = Some("abc".into());
    let text = "operation 1 of the batch: EntityAlreadyExists: It is there. (status 409, request abc)";
    assert_eq!(error.to_string(), text);
}
