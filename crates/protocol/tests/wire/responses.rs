//! The responses to batches, byte for byte: some clients read them line by line, at fixed positions.

use lazuli_model::{ErrorCode, Failure};
use lazuli_protocol::Response;

use crate::support::{BATCH, CHANGE_SET, Request, change_set, delete, insert, lone, text};

const ETAG: &str = "W/\"datetime'2015-03-04T05%3A06%3A07.0809Z'\"";
const POSTS: &str = "http://127.0.0.1:10002/dev/Posts";
const TRAILER: &str = "RequestId:11111111-2222-3333-4444-555555555555\\nTime:2015-03-04T05:06:08.5000000Z";

/// The response of a change set: `parts` are messages with LF line ends, without the line end before the next boundary.
#[track_caller]
fn check(response: &Response, parts: &[&str]) {
    assert_eq!(response.status, 202);
    assert_eq!(response.get("Content-Type"), Some(format!("multipart/mixed; boundary={BATCH}").as_str()));
    let mut expected = format!("--{BATCH}\nContent-Type: multipart/mixed; boundary={CHANGE_SET}\n\n");
    for part in parts {
        expected.push_str(&format!(
            "--{CHANGE_SET}\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n{part}\n"
        ));
    }
    expected.push_str(&format!("--{CHANGE_SET}--\n--{BATCH}--\n"));
    assert_eq!(text(response), wire(&expected));
}

/// LF for the eye, CRLF for the wire; `¶` stands for a bare LF.
fn wire(text: &str) -> String {
    text.replace('\n', "\r\n").replace('¶', "\n")
}

fn with_id(id: u8, operation: &str) -> String {
    operation.replacen("HTTP/1.1\n", &format!("HTTP/1.1\nContent-ID: {id}\n"), 1)
}

fn update(verb: &str, row: &str) -> String {
    format!("{verb} /Posts(PartitionKey='a',RowKey='{row}') HTTP/1.1\nContent-Type: application/json\n\n{{}}")
}

/// TX-14, TX-17, TX-18.
#[test]
fn success_in_json() {
    let wanted = insert("Posts", "a", "2").replace("Prefer: return-no-content\n", "");
    let body = change_set(&[
        with_id(7, &insert("Posts", "a", "1")),
        with_id(8, &wanted),
        with_id(
            9,
            &wanted.replace("\"2\"", "\"2b\"").replace("HTTP/1.1\n", "HTTP/1.1\nPrefer: return-content\n"),
        ),
        with_id(10, &update("PUT", "3")),
        update("MERGE", "4"),
        with_id(12, &delete("Posts", "a", "5")),
    ]);
    let response = Request::new("2019-02-02", body).respond(None);
    assert_eq!(response.get("Cache-Control"), Some("no-cache"));
    assert_eq!(response.get("X-Content-Type-Options"), Some("nosniff"));
    let entity = |row: &str| {
        format!(
            "{{\"odata.metadata\":\"http://127.0.0.1:10002/dev/$metadata#Posts/@Element\",\"odata.etag\":\"W/\\\"datetime'2015-03-04T05%3A06%3A07.0809Z'\\\"\",\"PartitionKey\":\"a\",\"RowKey\":\"{row}\",\"Timestamp\":\"2015-03-04T05:06:07.0809Z\",\"A\":1}}"
        )
    };
    check(
        &response,
        &[
            &format!(
                "HTTP/1.1 204 No Content\nContent-ID: 7\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nPreference-Applied: return-no-content\nDataServiceVersion: 3.0;\nLocation: {POSTS}(PartitionKey='a',RowKey='1')\nDataServiceId: {POSTS}(PartitionKey='a',RowKey='1')\nETag: {ETAG}\n\n"
            ),
            &format!(
                "HTTP/1.1 201 Created\nContent-ID: 8\nDataServiceVersion: 3.0;\nContent-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nLocation: {POSTS}(PartitionKey='a',RowKey='2')\nETag: {ETAG}\n\n{}",
                entity("2")
            ),
            &format!(
                "HTTP/1.1 201 Created\nContent-ID: 9\nDataServiceVersion: 3.0;\nContent-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nPreference-Applied: return-content\nLocation: {POSTS}(PartitionKey='a',RowKey='2b')\nETag: {ETAG}\n\n{}",
                entity("2b")
            ),
            &format!(
                "HTTP/1.1 204 No Content\nContent-ID: 10\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\nETag: {ETAG}\n\n"
            ),
            &format!(
                "HTTP/1.1 204 No Content\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\nETag: {ETAG}\n\n"
            ),
            "HTTP/1.1 204 No Content\nContent-ID: 12\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\n\n",
        ],
    );
}

const ATOM_INSERT: &str = "POST /Posts HTTP/1.1
Content-ID: 1
Content-Type: application/atom+xml;type=entry

<entry xmlns:d=\"http://schemas.microsoft.com/ado/2007/08/dataservices\" xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\" xmlns=\"http://www.w3.org/2005/Atom\"><content type=\"application/xml\"><m:properties><d:PartitionKey>a</d:PartitionKey><d:RowKey>1</d:RowKey><d:A m:type=\"Edm.Int32\">1</d:A></m:properties></content></entry>";

fn atom_request(version: &'static str) -> Request {
    let merge = ATOM_INSERT
        .replace("POST /Posts", "MERGE /Posts(PartitionKey='a',RowKey='2')")
        .replace("Content-ID: 1", "Content-ID: 2\nIf-Match: *");
    let body = change_set(&[ATOM_INSERT.into(), merge, with_id(3, &delete("Posts", "a", "3"))]);
    Request::new(version, body).with("Accept", "application/atom+xml,application/xml")
}

#[test]
fn success_in_atom_of_2014() {
    let response = atom_request("2014-02-14").respond(None);
    check(
        &response,
        &[
            &format!(
                "HTTP/1.1 201 Created\nContent-ID: 1\nDataServiceVersion: 1.0;\nContent-Type: application/atom+xml;type=entry;charset=utf-8\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nLocation: {POSTS}(PartitionKey='a',RowKey='1')\nETag: {ETAG}\n\n<?xml version=\"1.0\" encoding=\"utf-8\"?><entry xml:base=\"http://127.0.0.1:10002/dev/\" xmlns=\"http://www.w3.org/2005/Atom\" xmlns:d=\"http://schemas.microsoft.com/ado/2007/08/dataservices\" xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\" m:etag=\"W/&quot;datetime'2015-03-04T05%3A06%3A07.0809Z'&quot;\"><id>{POSTS}(PartitionKey='a',RowKey='1')</id><category term=\"dev.Posts\" scheme=\"http://schemas.microsoft.com/ado/2007/08/dataservices/scheme\" /><link rel=\"edit\" title=\"Posts\" href=\"Posts(PartitionKey='a',RowKey='1')\" /><title /><updated>2015-03-04T05:06:08Z</updated><author><name /></author><content type=\"application/xml\"><m:properties><d:PartitionKey>a</d:PartitionKey><d:RowKey>1</d:RowKey><d:Timestamp m:type=\"Edm.DateTime\">2015-03-04T05:06:07.0809Z</d:Timestamp><d:A m:type=\"Edm.Int32\">1</d:A></m:properties></content></entry>"
            ),
            &format!(
                "HTTP/1.1 204 No Content\nContent-ID: 2\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\nETag: {ETAG}\n\n"
            ),
            "HTTP/1.1 204 No Content\nContent-ID: 3\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\n\n",
        ],
    );
}

#[test]
fn success_in_atom_of_2011() {
    let response = atom_request("2011-08-18").respond(None);
    assert_eq!(response.get("X-Content-Type-Options"), None);
    check(
        &response,
        &[
            &format!(
                "HTTP/1.1 201 Created
Content-ID: 1
Cache-Control: no-cache
DataServiceVersion: 1.0;
Content-Type: application/atom+xml;charset=utf-8
Location: {POSTS}(PartitionKey='a',RowKey='1')
ETag: {ETAG}

<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>
<entry xml:base=\"http://127.0.0.1:10002/dev/\" xmlns:d=\"http://schemas.microsoft.com/ado/2007/08/dataservices\" xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\" m:etag=\"W/&quot;datetime'2015-03-04T05%3A06%3A07.0809Z'&quot;\" xmlns=\"http://www.w3.org/2005/Atom\">
  <id>{POSTS}(PartitionKey='a',RowKey='1')</id>
  <title type=\"text\"></title>
  <updated>2015-03-04T05:06:08Z</updated>
  <author>
    <name />
  </author>
  <link rel=\"edit\" title=\"Posts\" href=\"Posts(PartitionKey='a',RowKey='1')\" />
  <category term=\"dev.Posts\" scheme=\"http://schemas.microsoft.com/ado/2007/08/dataservices/scheme\" />
  <content type=\"application/xml\">
    <m:properties>
      <d:PartitionKey>a</d:PartitionKey>
      <d:RowKey>1</d:RowKey>
      <d:Timestamp m:type=\"Edm.DateTime\">2015-03-04T05:06:07.0809Z</d:Timestamp>
      <d:A m:type=\"Edm.Int32\">1</d:A>
    </m:properties>
  </content>
</entry>"
            ),
            &format!("HTTP/1.1 204 No Content\nContent-ID: 2\nCache-Control: no-cache\nDataServiceVersion: 1.0;\nETag: {ETAG}\n\n"),
            "HTTP/1.1 204 No Content\nContent-ID: 3\nCache-Control: no-cache\nDataServiceVersion: 1.0;\n\n",
        ],
    );
}

/// TX-13, TX-15: exactly one part, with the index and the Content-ID of the operation that failed.
#[test]
fn failure_in_json() {
    let body = change_set(&[
        with_id(7, &insert("Posts", "a", "1")),
        with_id(8, &insert("Posts", "a", "2")),
        with_id(9, &insert("Posts", "a", "3")),
    ]);
    let request = Request::new("2019-02-02", body);
    let failure = Failure::from(ErrorCode::EntityAlreadyExists).at(1);
    check(
        &request.respond(Some(failure)),
        &[&format!(
            "HTTP/1.1 409 Conflict\nContent-ID: 8\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nPreference-Applied: return-no-content\nDataServiceVersion: 3.0;\nContent-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\n\n{{\"odata.error\":{{\"code\":\"EntityAlreadyExists\",\"message\":{{\"lang\":\"en-US\",\"value\":\"1:The specified entity already exists.\\n{TRAILER}\"}}}}}}"
        )],
    );
}

/// A missing table is reported for the first operation, with the headers of an early rejection.
#[test]
fn missing_table() {
    let request = Request::new("2019-02-02", change_set(&[insert("Posts", "a", "1")]));
    let part = format!(
        "HTTP/1.1 404 Not Found\nX-Content-Type-Options: nosniff\nDataServiceVersion: 3.0;\nContent-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\n\n{{\"odata.error\":{{\"code\":\"TableNotFound\",\"message\":{{\"lang\":\"en-US\",\"value\":\"0:The table specified does not exist.\\n{TRAILER}\"}}}}}}"
    );
    check(&request.respond(Some(ErrorCode::TableNotFound.into())), &[&part]);
    check(&request.respond(Some(Failure::from(ErrorCode::TableNotFound).at(0))), &[&part]);
}

#[test]
fn failure_in_atom() {
    let failure = || Some(Failure::from(ErrorCode::UpdateConditionNotSatisfied).at(1));
    let trailer = TRAILER.replace("\\n", "¶");
    check(
        &atom_request("2014-02-14").respond(failure()),
        &[&format!(
            "HTTP/1.1 412 Precondition Failed\nContent-ID: 2\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\nContent-Type: application/xml;charset=utf-8\n\n<?xml version=\"1.0\" encoding=\"utf-8\"?><error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><code>UpdateConditionNotSatisfied</code><message xml:lang=\"en-US\">1:The update condition specified in the request was not satisfied.¶{trailer}</message></error>"
        )],
    );
    check(
        &atom_request("2009-04-14").respond(failure()),
        &[&format!(
            "HTTP/1.1 412 Precondition Failed\nContent-ID: 2\nCache-Control: no-cache\nDataServiceVersion: 1.0;\nContent-Type: application/xml\n\n<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\n<error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">\n  <code>UpdateConditionNotSatisfied</code>\n  <message xml:lang=\"en-US\">1:The update condition specified in the request was not satisfied.¶{trailer}</message>\n</error>"
        )],
    );
}

#[track_caller]
fn check_query(response: &Response, message: &str) {
    assert_eq!(response.status, 202);
    let expected = format!(
        "--{BATCH}\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n{message}\n--{BATCH}--\n"
    );
    assert_eq!(text(response), wire(&expected));
}

/// TX-08: the response to a lone query is outside of any change set.
#[test]
fn queries() {
    let operation = "GET /Posts(PartitionKey='a',RowKey='1') HTTP/1.1\nContent-ID: 5\nAccept: application/json;odata=nometadata\n";
    let request = Request::new("2019-02-02", lone(operation));
    check_query(
        &request.respond(None),
        &format!(
            "HTTP/1.1 200 OK\nContent-ID: 5\nDataServiceVersion: 3.0;\nContent-Type: application/json;odata=nometadata;streaming=true;charset=utf-8\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nETag: {ETAG}\n\n{{\"PartitionKey\":\"a\",\"RowKey\":\"1\",\"Timestamp\":\"2015-03-04T05:06:07.0809Z\"}}"
        ),
    );
    check_query(
        &request.respond(Some(ErrorCode::ResourceNotFound.into())),
        &format!(
            "HTTP/1.1 404 Not Found\nContent-ID: 5\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 3.0;\nContent-Type: application/json;odata=nometadata;streaming=true;charset=utf-8\n\n{{\"odata.error\":{{\"code\":\"ResourceNotFound\",\"message\":{{\"lang\":\"en-US\",\"value\":\"0:The specified resource does not exist.\\n{TRAILER}\"}}}}}}"
        ),
    );
    let by_filter = operation
        .replace("(PartitionKey='a',RowKey='1')", "()?$filter=PartitionKey eq 'a' and RowKey eq '1'");
    check_query(
        &Request::new("2019-02-02", lone(&by_filter)).respond(None),
        "HTTP/1.1 200 OK\nContent-ID: 5\nDataServiceVersion: 3.0;\nContent-Type: application/json;odata=nometadata;streaming=true;charset=utf-8\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\n\n{\"value\":[]}",
    );
}

/// An empty change set is legal, and its response closes at once.
#[test]
fn nothing_to_do() {
    check(&Request::new("2019-02-02", change_set(&[])).respond(None), &[]);
}

/// TX-16, TX-25: a failure that belongs to no operation is one of the request.
#[test]
fn failure_of_the_whole() {
    let request = Request::new("2019-02-02", change_set(&[insert("Posts", "a", "1")]));
    for code in [ErrorCode::ServerBusy, ErrorCode::InternalError, ErrorCode::OperationTimedOut] {
        let response = request.respond(Some(code.into()));
        assert_eq!(response.status, code.status());
        assert!(text(&response).contains(&format!("\"value\":\"{}", code.message())), "{}", text(&response));
    }
}
