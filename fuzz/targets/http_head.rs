//! Heads of requests, and bodies in chunks: no panic; an accepted head has one interpretation only; a body is the same in
//! whatever pieces it arrives. The first byte of the input is the length of the pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;

// By their paths: the server as a whole would bring TLS and a runtime into the instrumented build.
#[allow(dead_code, reason = "what the server needs of it is more")]
#[path = "../../crates/server/src/http/chunked.rs"]
mod chunked;
#[allow(dead_code, reason = "what the server needs of it is more")]
#[path = "../../crates/server/src/http/head.rs"]
mod head;

use chunked::{Chunked, Progress};
use head::{Framing, RequestHead, find_head_end};

const FIELDS_MAX: usize = 20;
const BODY_BYTES_MAX: usize = 1000;

fuzz_target!(|input: &[u8]| {
    let [pieces, input @ ..] = input else { return };
    let piece = 1 + usize::from(*pieces);
    let Some(end) = find_head_end(input, 0) else { return };
    // The end does not depend on how much was searched before.
    assert_eq!(find_head_end(input, end.min(piece)), Some(end));
    let (head, rest) = input.split_at(end);
    if let Ok(head) = RequestHead::parse(head, FIELDS_MAX) {
        check(&head);
        if head.framing == Framing::Chunked {
            assert_eq!(decode(rest, rest.len().max(1)), decode(rest, piece), "in pieces of {piece}");
        }
    }
});

/// Asserts that the head contains nothing that another server could interpret differently.
fn check(head: &RequestHead<'_>) {
    assert!(head.fields.len() <= FIELDS_MAX);
    let is_plain = |text: &str| !text.is_empty() && !text.bytes().any(|byte| byte <= b' ' || byte == 0x7f);
    assert!(is_plain(head.method) && is_plain(head.target), "{head:?}");
    for field in &head.fields {
        assert!(is_plain(field.name) && !field.name.contains(':'), "{head:?}");
        assert!(!field.value.contains(['\r', '\n', '\0']), "{head:?}");
    }
    let count = |name: &str| head.fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name)).count();
    assert!(count("content-length") + count("transfer-encoding") <= 1 && count("host") <= 1, "{head:?}");
    assert_eq!(head.framing == Framing::Chunked, count("transfer-encoding") == 1, "{head:?}");
}

/// The body, and the number of bytes that follow it; `None` if it is rejected or incomplete.
fn decode(mut input: &[u8], piece: usize) -> Option<(Vec<u8>, usize)> {
    let mut chunked = Chunked::new(BODY_BYTES_MAX as u64);
    let mut shown = 0;
    loop {
        shown = (shown + piece).min(input.len());
        let (used, progress) = chunked.feed(&input[..shown]).ok()?;
        assert!(used <= shown && chunked.body_bytes() <= BODY_BYTES_MAX);
        let was_all = shown == input.len();
        input = &input[used..];
        shown -= used;
        match progress {
            Progress::Done => return Some((chunked.into_body(), input.len())),
            Progress::More if was_all => return None,
            Progress::More => {}
        }
    }
}
