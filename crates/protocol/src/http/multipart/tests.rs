//! Splitting multipart bodies into parts.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check_boundary(content_type: &str, expected: Option<&str>) {
    assert_eq!(boundary(content_type), expected, "{content_type}");
}

#[test]
fn boundaries() {
    check_boundary("multipart/mixed; boundary=batch_1", Some("batch_1"));
    check_boundary("multipart/mixed;boundary=batch_1", Some("batch_1"));
    check_boundary("Multipart/Mixed; Boundary=\"a b;c=d\"", Some("a b;c=d"));
    check_boundary("multipart/mixed; charset=\"utf-8\"; boundary=batch_1", Some("batch_1"));
    check_boundary("multipart/mixed; charset=utf-8;boundary=batch_1; type=x", Some("batch_1"));
    check_boundary("multipart/mixed;\r\n boundary=batch_1", Some("batch_1"));
    check_boundary("multipart/mixed; boundary=a=b", Some("a=b"));
    // Finding 8: a web page can post these without a preflight.
    check_boundary("multipart/form-data; boundary=a", None);
    for none in [
        "",
        "multipart/mixed",
        "multipart/mixed;",
        "multipart/mixed; boundary",
        "multipart/mixed; boundary=",
        "multipart/mixed; boundary=\"\"",
        "multipart/mixed; boundary=\"open",
        "application/json; boundary=x",
    ] {
        check_boundary(none, None);
    }
    check_boundary(&format!("multipart/mixed; boundary={}", "x".repeat(257)), None);
}

/// The parts as `name=value,…|content`, line ends visible.
fn show(body: &str, declared: &str) -> Vec<String> {
    let parts = match Parts::new(body.as_bytes(), declared) {
        Ok(parts) => parts,
        Err(Malformed) => return vec!["malformed".into()],
    };
    parts
        .map(|part| match part {
            Err(Malformed) => "malformed".into(),
            Ok(part) => {
                let fields: Vec<_> = part
                    .fields
                    .iter()
                    .map(|field| format!("{}={}", field.name, field.value.escape_debug()))
                    .collect();
                format!("{}|{}", fields.join(","), String::from_utf8_lossy(part.content).escape_debug())
            }
        })
        .collect()
}

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    assert_eq!(show(body, "b"), expected, "{body:?}");
    let crlf = body.replace('\n', "\r\n");
    let expected: Vec<_> = expected.iter().map(|part| part.replace("\\n", "\\r\\n")).collect();
    assert_eq!(show(&crlf, "b"), expected, "{crlf:?}");
}

#[test]
fn parts() {
    check("--b\nA: 1\n\nx\n--b--\n", &["A=1|x"]);
    check("--b\nA: 1\n\nx\n--b--", &["A=1|x"]);
    check("preamble\n\n--b\nA: 1\n\nx\n--b\nB:2\n\ny\n--b--\nepilogue", &["A=1|x", "B=2|y"]);
    check("--b  \nA: 1\n\nx\n--b-- \n", &["A=1|x"]);
    check("--b\nA: 1\n\n\nx\n\n--b--\n", &["A=1|\\nx\\n"]);
    check("--b\nA: 1\n\n--b--\n", &["A=1|"]);
    check("--b\nA: 1\n\n--bx\n --b\n--b--x\n--b--\n", &["A=1|--bx\\n --b\\n--b--x"]);
    check("--b\nA: m;\n  n\n\nx\n--b--\n", &["A=m;\\n  n|x"]);
}

#[test]
fn ends_may_be_missing() {
    check("--b\nA: 1\n\nx", &["A=1|x"]);
    check("--b\nA: 1\n\nx\n--b\n", &["A=1|x"]);
    check("--b\nA: 1\n\nx\n--b\n\n", &["A=1|x"]);
}

#[test]
fn nothing_in_it() {
    check("--b--\n", &[]);
    check("--b\n--b--\n", &[]);
    check("--b\n", &[]);
    check("", &["malformed"]);
    check("\n\n", &["malformed"]);
    check("no boundary", &["malformed"]);
    check("--b\nno colon\n\nx\n--b--\n", &["malformed"]);
    check("--b\n A: 1\n\nx\n--b--\n", &["malformed"]);
}

/// Recorders and some clients do not use the boundary that they declare.
#[test]
fn a_boundary_that_is_only_shown() {
    check("\n--c\nA: 1\n\nx\n--c\nB: 2\n\ny\n--c--\n", &["A=1|x", "B=2|y"]);
    check("--c--\n", &[]);
    check("text\n--c\nA: 1\n\nx\n--c--\n", &["malformed"]);
}

#[track_caller]
fn check_request(content: &str, expected: Option<(&str, &str, usize, &str)>) {
    let read = HttpMessage::parse(content.as_bytes()).ok().and_then(|message| {
        let (method, target) = message.request_line().ok()?;
        Some((method, target, message.fields.len(), std::str::from_utf8(message.body).unwrap()))
    });
    assert_eq!(read, expected, "{content:?}");
}

#[test]
fn requests() {
    check_request("POST /T HTTP/1.1\nA: 1\nB: 2\n\n{}\n", Some(("POST", "/T", 2, "{}\n")));
    check_request(
        "\r\n\r\nPUT /T(a='x y', b='z') HTTP/1.1\r\nA:1\r\n\r\n\r\n{}",
        Some(("PUT", "/T(a='x y', b='z')", 1, "\r\n{}")),
    );
    check_request(
        "GET /T(PartitionKey='HTTP/1.1 ') HTTP/1.1",
        Some(("GET", "/T(PartitionKey='HTTP/1.1 ')", 0, "")),
    );
    check_request("DELETE /T", Some(("DELETE", "/T", 0, "")));
    check_request("DELETE /T HTTP/1.1\nIf-Match: *", Some(("DELETE", "/T", 1, "")));
    for broken in ["", "\n\n", "GET", "GET ", "GET  HTTP/1.1", "GET / HTTP/1.1\nno colon\n\n"] {
        check_request(broken, None);
    }
    check_request(&format!("GET / HTTP/1.1\n{}\n", "A: 1\n".repeat(65)), None);
    check_request(&format!("GET /{} HTTP/1.1\n", "a".repeat(65_536)), None);
    check_request(&format!("GET / HTTP/1.1\nA: {}\n\n", "a".repeat(65_536)), None);
}

proptest! {
    #[test]
    fn random_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..200), declared in ".{0,8}") {
        if let Ok(parts) = Parts::new(&body, &declared) {
            for part in parts.flatten() {
                let _ = HttpMessage::parse(part.content).map(|message| message.request_line().is_ok());
            }
        }
    }

    /// Parts with any content are read back unchanged.
    #[test]
    fn parts_come_back(contents in proptest::collection::vec("[a-z\\r\\n -]{1,20}", 1..5)) {
        let mut body = String::new();
        for content in &contents {
            body.push_str(&format!("--quite_unique\r\nA: 1\r\n\r\n{content}\r\n"));
        }
        body.push_str("--quite_unique--\r\n");
        let parts: Vec<_> = Parts::new(body.as_bytes(), "quite_unique").unwrap().map(|part| part.unwrap().content).collect();
        let expected: Vec<_> = contents.iter().map(String::as_bytes).collect();
        prop_assert_eq!(parts, expected);
    }
}
