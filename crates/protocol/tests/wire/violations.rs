//! Malformed batches and their errors.

use crate::support::{Request, change_set, delete, insert, lone, show};

const VERSION: &str = "2019-02-02";
const INVALID: &str = "InvalidInput: One of the request inputs is not valid.";
const UNREADABLE: &str = "InvalidInput: An error occurred while processing this request.";

#[track_caller]
fn check_set(operations: &[String], expected: &str) {
    assert_eq!(show(&Request::new(VERSION, change_set(operations))), expected);
}

/// A valid operation, followed by the operation under test.
#[track_caller]
fn check_second(operation: &str, expected: &str) {
    let operations = [insert("Posts", "a", "1"), operation.to_owned()];
    check_set(&operations, &format!("rejected Some(1): {expected}"));
}

#[track_caller]
fn check_whole(body: &str, expected: &str) {
    let body = body.replace('\n', "\r\n");
    assert_eq!(show(&Request::new(VERSION, body)), format!("rejected as a whole: {expected}"));
}

/// TX-01.
#[test]
fn too_many_operations() {
    let operations =
        |count: usize| (0..count).map(|n| insert("Posts", "a", &n.to_string())).collect::<Vec<_>>();
    let at_the_limit = show(&Request::new(VERSION, change_set(&operations(100))));
    assert_eq!(at_the_limit.lines().count(), 101, "{at_the_limit}");
    let rejected = "rejected Some(99): InvalidInput: The batch request operation exceeds the maximum 100 changes per change set.";
    check_set(&operations(101), rejected);
    check_set(&operations(5000), rejected);
}

/// TX-03, TX-04, TX-05, TX-07.
#[test]
fn operations_that_do_not_go_together() {
    check_second(
        &insert("Posts", "b", "2"),
        "CommandsInBatchActOnDifferentPartitions: All commands in a batch must operate on same entity group.",
    );
    check_second(
        &delete("Posts", "a", "1"),
        "InvalidDuplicateRow: The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.",
    );
    check_second(&insert("Others", "a", "2"), INVALID);
    check_second("GET /Posts(PartitionKey='a',RowKey='2') HTTP/1.1\n", INVALID);
    check_second("GET /Posts() HTTP/1.1\n", INVALID);
    check_second("POST /Tables HTTP/1.1\nContent-Type: application/json\n\n{\"TableName\":\"abc\"}", INVALID);
    check_second("DELETE /Tables('Posts') HTTP/1.1\n", INVALID);
    check_second("POST /$batch HTTP/1.1\nContent-Type: multipart/mixed; boundary=x\n\n", INVALID);
}

/// The head of an operation is not parsed again if it is that of the operation before: each operation must mean the
/// same as it means alone.
#[test]
fn operations_mean_the_same_after_any_other() {
    let insert = |row: &str, fields: &str| {
        let entity = format!("{{\"PartitionKey\":\"a\",\"RowKey\":\"{row}\",\"A\":1}}");
        format!("POST /Posts HTTP/1.1\nContent-Type: application/json\n{fields}\n{entity}")
    };
    let merge = |row: &str, fields: &str| {
        format!(
            "MERGE /Posts(PartitionKey='a',RowKey='{row}') HTTP/1.1\nContent-Type: application/json\n{fields}\n{{\"B\":2}}"
        )
    };
    let operations = [
        insert("1", ""),
        insert("2", ""),
        insert("3", "Accept: application/json\n"),
        insert("4", "Accept: application/json\nPrefer: return-no-content\n"),
        insert("5", "Accept: application/json\nPrefer: return-no-content\n"),
        insert("6", "Content-ID: 7\n"),
        insert("7", ""),
        delete("Posts", "a", "8"),
        merge("9", ""),
        merge("10", "If-Match: *\n"),
        merge("11", "If-Match: *\n"),
        insert("12", ""),
    ];
    let together = show(&Request::new(VERSION, change_set(&operations)));
    assert_eq!(together.lines().count(), operations.len() + 1, "{together}");
    for (operation, line) in operations.iter().zip(together.lines().skip(1)) {
        let alone = show(&Request::new(VERSION, change_set(std::slice::from_ref(operation))));
        assert_eq!(alone.lines().nth(1), Some(line));
    }
}

/// The name of a table has no case, a key has.
#[test]
fn operations_that_do() {
    let operations = [insert("Posts", "a", "x"), insert("POSTS", "a", "X")];
    check_set(
        &operations,
        "Posts\ninsert a|x A=Int32(1) -> minimal no-content\ninsert a|X A=Int32(1) -> minimal no-content",
    );
}

/// An error names the index of its operation; the first error counts.
#[test]
fn operations_that_are_wrong_in_themselves() {
    let post = |body: &str| format!("POST /Posts HTTP/1.1\nContent-Type: application/json\n\n{body}");
    check_second(&post("{"), UNREADABLE);
    check_second(
        &post("{\"PartitionKey\":\"a\"}"),
        "PropertiesNeedValue: The values are not specified for all properties in the entity.",
    );
    let large = format!("{{\"PartitionKey\":\"a\",\"RowKey\":\"2\",\"S\":\"{}\"}}", "x".repeat(32769));
    check_second(
        &post(&large),
        "PropertyValueTooLarge: The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.",
    );
    let name = "InvalidResourceName: The specifed resource name contains invalid characters.";
    check_second(&insert("1abc", "a", "2"), name);
    check_second(
        &insert("$1", "a", "2"),
        "OutOfRangeInput: The specified resource name length is not within the permissible limits.",
    );
    check_second(&delete("Posts", "a", "b%2Fc"), "InvalidInput: Bad Request - Error in query syntax.");
    check_second(&delete("Posts", "a", "%zz"), "InvalidInput: Bad Request - Error in query syntax.");
    check_second(
        "DELETE /Posts(PartitionKey='a',RowKey='2') HTTP/1.1\n",
        "MissingRequiredHeader: A required HTTP header was not specified.",
    );
    check_second(
        "BREW /Posts HTTP/1.1\n",
        "InvalidHttpVerb: The HTTP verb specified was not recognized by the server.",
    );
    check_second(
        "POST /Posts HTTP/1.1\n\n{}",
        "MediaTypeNotSupported: None of the provided media types are supported.",
    );
    check_second("nonsense", INVALID);
    check_second("", INVALID);
    check_set(&[post("{"), post("[")], &format!("rejected Some(0): {UNREADABLE}"));
}

/// Change sets do not nest.
#[test]
fn nested_nonsense() {
    let nested = "--batch_1\nContent-Type: multipart/mixed; boundary=changeset_1\n\n--changeset_1\nContent-Type: multipart/mixed; boundary=inner\n\n--inner\nContent-Type: application/http\n\nDELETE /Posts(PartitionKey='a',RowKey='1') HTTP/1.1\nIf-Match: *\n\n--inner--\n--changeset_1--\n--batch_1--\n";
    assert_eq!(show(&Request::new(VERSION, nested)), format!("rejected Some(0): {INVALID}"));
    let untyped = nested.replace("Content-Type: multipart/mixed; boundary=inner\n", "");
    assert_eq!(show(&Request::new(VERSION, untyped)), format!("rejected Some(0): {INVALID}"));
}

/// TX-06, TX-07: nothing of it is done.
#[test]
fn more_than_one_thing() {
    let set = "--batch_1\nContent-Type: multipart/mixed; boundary=c\n\n--c\nContent-Type: application/http\n\nDELETE /Posts(PartitionKey='a',RowKey='1') HTTP/1.1\nIf-Match: *\n\n--c--\n";
    let query =
        "--batch_1\nContent-Type: application/http\n\nGET /Posts(PartitionKey='a',RowKey='1') HTTP/1.1\n\n";
    for body in [[set, set], [set, query], [query, set], [query, query]] {
        check_whole(&format!("{}--batch_1--\n", body.concat()), INVALID);
    }
}

/// TX-08: an operation outside of a change set can only be a query.
#[test]
fn a_lone_write() {
    for operation in [delete("Posts", "a", "1"), insert("Posts", "a", "1")] {
        assert_eq!(show(&Request::new(VERSION, lone(&operation))), format!("rejected Some(0): {INVALID}"));
    }
}

#[test]
fn no_batch_at_all() {
    for body in [
        "",
        "\n",
        "{}",
        "--batch_1--\n",
        "--batch_1\n--batch_1--\n",
        "--batch_1\nContent-Type: multipart/mixed; boundary=c\n\n--batch_1--\n",
        "--batch_1\nContent-Type: multipart/mixed\n\n--c--\n--batch_1--\n",
        "--batch_1\nContent-Type: text/plain\n\nhello\n--batch_1--\n",
        "--batch_1\n\nGET / HTTP/1.1\n\n--batch_1--\n",
    ] {
        check_whole(body, UNREADABLE);
    }
    for kind in ["application/json", "multipart/mixed", "multipart/mixed; boundary="] {
        let request = Request::new(VERSION, change_set(&[])).with("Content-Type", kind);
        assert_eq!(show(&request), format!("rejected as a whole: {UNREADABLE}"));
    }
}

/// An empty change set is none of these.
#[test]
fn nothing_to_do() {
    check_set(&[], "nothing");
}

/// A format that the version does not support is rejected in a batch as in a single request.
#[test]
fn formats_by_version() {
    let json = |version| show(&Request::new(version, change_set(&[insert("Posts", "a", "1")])));
    assert_eq!(json("2011-08-18"), "rejected Some(0): JsonFormatNotSupported: JSON format is not supported.");
    let atom = insert("Posts", "a", "1").replace("application/json", "application/atom+xml");
    let atom = |version| show(&Request::new(version, change_set(std::slice::from_ref(&atom))));
    assert_eq!(atom("2019-02-02"), "rejected Some(0): AtomFormatNotSupported: Atom format is not supported.");
}

/// Large bodies made to cost time: each gets a response at once, or this test does not end.
#[test]
fn floods() {
    const SIZE: usize = 1024 * 1024;
    let filled = |unit: &str| unit.repeat(SIZE / unit.len());
    let operation = |text: &str| show(&Request::new(VERSION, change_set(&[text.to_owned()])));
    let part = "--changeset_1\nContent-Type: application/http\n\n";
    let open = "--batch_1\nContent-Type: multipart/mixed; boundary=changeset_1\n\n";
    for body in [
        filled("--batch_1\n"),
        filled("--batch_1\nA: 1\n\n"),
        filled("--batch_"),
        filled("--\n"),
        filled("\n"),
        filled("\r\n "),
        format!("--batch_1\n{}", filled("A: 1\n")),
        format!("--batch_1\nA: {}", filled("1\n ")),
        format!("--batch_1\nContent-Type: multipart/mixed{}", filled("; a=b")),
        format!("{open}{}", filled(part)),
        format!("{open}{}", filled("--changeset_1\n")),
        format!("{open}{part}{}", filled("A: 1\n")),
    ] {
        let shown = show(&Request::new(VERSION, body));
        assert!(shown.starts_with("rejected"), "{shown}");
    }
    for text in [
        filled("POST "),
        format!("DELETE /{} HTTP/1.1\n", filled("a/")),
        format!("DELETE /Posts{} HTTP/1.1\n", filled("(")),
        format!("DELETE /Posts({}) HTTP/1.1\n", filled("a='b',")),
        format!("DELETE /Posts(PartitionKey='{}',RowKey='') HTTP/1.1\n", filled("''")),
        format!("DELETE /Posts(PartitionKey='{}',RowKey='') HTTP/1.1\n", filled("%25")),
        format!("DELETE /Posts?{} HTTP/1.1\n", filled("a=b&")),
        format!("POST /Posts HTTP/1.1\nAccept: {}\n", filled("a/b,")),
        format!("POST /Posts HTTP/1.1\nContent-Type: application/json\n\n{}", filled("[")),
        format!("POST /Posts HTTP/1.1\nContent-Type: application/json\n\n{{{}}}", filled("\"a\":1,")),
        format!(
            "POST /Posts HTTP/1.1\nContent-Type: application/json\n\n{{\"a@odata.type\":\"{}\"}}",
            filled("\\n")
        ),
    ] {
        let shown = operation(&text);
        assert!(shown.starts_with("rejected"), "{shown}");
    }
}
