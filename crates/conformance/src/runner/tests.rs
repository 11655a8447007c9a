//! The runner against a server that returns scripted responses.

use super::*;
use crate::http::TranscriptRequest;

/// A server that returns scripted responses and records the requests.
struct Scripted {
    responses: Vec<io::Result<TranscriptResponse>>,
    seen: Vec<TranscriptRequest>,
}

impl Transport for Scripted {
    fn exchange(&mut self, request: &TranscriptRequest) -> io::Result<TranscriptResponse> {
        self.seen.push(request.clone());
        if self.responses.is_empty() { Ok(response(204, &[], "")) } else { self.responses.remove(0) }
    }
}

fn response(status: u16, headers: &[(&str, &str)], body: &str) -> TranscriptResponse {
    let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    TranscriptResponse { status, headers, body: body.into(), ..TranscriptResponse::default() }
}

fn play(
    file: &str,
    responses: Vec<io::Result<TranscriptResponse>>,
) -> (TranscriptOutcome, Vec<TranscriptRequest>) {
    play_at("http://127.0.0.1:1", file, responses)
}

fn play_at(
    endpoint: &str,
    file: &str,
    responses: Vec<io::Result<TranscriptResponse>>,
) -> (TranscriptOutcome, Vec<TranscriptRequest>) {
    let transcript = Transcript::parse("table/group/name", &format!("# x\n# Truth: y\n{file}")).unwrap();
    let target = Target::new(endpoint, "dev", "a2V5").unwrap();
    let mut scripted = Scripted { responses, seen: Vec::new() };
    let outcome = run_transcript(&transcript, &target, &mut scripted);
    (outcome, scripted.seen)
}

const TAG: &str = "W/\"datetime'2022-05-06T00%3A31%3A05.07Z'\"";

#[test]
fn a_request_sends_values_of_an_earlier_response() {
    let file = "### a\nGET /x\n<<< 200\nETag: {etag:1}\n### b\nPUT /x\nIf-Match: {etag:1}\n<<< 204\n";
    let (outcome, seen) = play(file, vec![Ok(response(200, &[("ETag", TAG)], ""))]);
    assert_eq!((outcome.verdict, outcome.exchanges), (TranscriptVerdict::Passed, 2));
    assert!(seen[1].headers.contains(&("If-Match".to_owned(), TAG.to_owned())));
}

#[test]
fn tables_are_made_first_and_deleted_last() {
    let file = "x-lazuli-tables: a\nx-lazuli-row: a {\"PartitionKey\":\"{table:b}\"}\n### a\nGET /{table:a}\n<<< 204\n";
    let (outcome, seen) = play(file, Vec::new());
    assert_eq!(outcome.verdict, TranscriptVerdict::Passed, "{:?}", outcome.differences);
    let lines: Vec<_> =
        seen.iter().map(|r| format!("{} {}", r.method, r.target.split("Cf").next().unwrap())).collect();
    let tables = ["POST /dev/Tables", "POST /dev/", "GET /dev/"];
    assert_eq!(lines[..3], tables);
    assert_eq!(lines[3..], ["DELETE /dev/Tables('", "DELETE /dev/Tables('"]);
}

#[test]
fn a_failed_set_up_is_a_difference() {
    let (outcome, _) =
        play("x-lazuli-tables: a\n### a\nGET /x\n<<< 200\n", vec![Ok(response(500, &[], "no"))]);
    assert_eq!((outcome.verdict, outcome.exchanges), (TranscriptVerdict::Failed, 0));
    assert_eq!(outcome.differences[0].kind, DifferenceKind::Setup);
}

#[test]
fn exchanges_repeat_and_stop_at_the_first_difference() {
    let file = "### a\nGET /x/{n}\nx-lazuli-repeat: 1..5\n<<< 200\n";
    let good = || Ok(response(200, &[], ""));
    let (outcome, seen) = play(file, vec![good(), good(), Ok(response(404, &[], ""))]);
    assert_eq!((outcome.exchanges, outcome.differences.len()), (3, 1));
    assert_eq!(seen[2].target, "/dev/x/3");
}

#[test]
fn a_lost_connection_ends_a_transcript_and_a_lost_value_skips_a_request() {
    let broken = || Err(io::ErrorKind::UnexpectedEof.into());
    let (outcome, _) = play("### a\nGET /x\n<<< 200\n### b\nGET /y\n<<< 200\n", vec![broken()]);
    assert_eq!((outcome.exchanges, outcome.differences[0].kind), (1, DifferenceKind::Transport));

    let file = "### a\nGET /x\n<<< 200\nETag: {etag:1}\n### b\nGET /y\nIf-Match: {etag:1}\n<<< 200\n";
    let (outcome, seen) = play(file, vec![Ok(response(500, &[], ""))]);
    let kinds: Vec<_> = outcome.differences.iter().map(|d| d.kind).collect();
    assert_eq!(kinds, [DifferenceKind::Status, DifferenceKind::Unsent]);
    assert_eq!(seen.len(), 1);
}

#[test]
fn exchanges_are_left_out_where_they_make_no_sense() {
    let file = "### a\nGET /any\n<<< 204\n### b\nGET /http\nx-lazuli-only: http\n<<< 204\n### c\nGET /path\nx-lazuli-only: path\n<<< 204\n";
    for (endpoint, expected) in [
        ("http://h", vec!["/dev/any", "/dev/http", "/dev/path"]),
        ("http://dev.h", vec!["/any", "/http"]),
        ("https://h", vec!["/dev/any", "/dev/path"]),
        ("https://dev.h", vec!["/any"]),
    ] {
        let (outcome, seen) = play_at(endpoint, file, Vec::new());
        let targets: Vec<_> = seen.iter().map(|request| request.target.as_str()).collect();
        assert_eq!((outcome.exchanges, targets), (expected.len(), expected), "{endpoint}");
    }
}

#[test]
fn names_are_selected() {
    let mut options = Options::new(Target::new("http://h", "dev", "a2V5").unwrap());
    assert!(options.selects("table/batch/x") && !options.selects("queue/batch/x"));
    options.exclude_groups = vec!["batch".to_owned()];
    assert!(!options.selects("table/batch/x") && options.selects("table/batches/x"));
    options.filter = Some("tables/".to_owned());
    assert!(options.selects("table/tables/create") && !options.selects("table/query/create"));
    options.target = options.target.with_service(lazuli_model::Service::Queue);
    assert!(options.selects("queue/tables/create"));
}
