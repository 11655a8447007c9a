//! A batch in the form of each client family, with our own data (TX-18).

use crate::support::{Request, change_set, delete, lone, show};

#[track_caller]
fn check(request: Request, expected: &[&str]) {
    assert_eq!(show(&request), expected.join("\n"));
}

fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// azure-data-tables for Python: absolute URLs, the Content-ID among the headers of the MIME part, an empty line before
/// the end.
#[test]
fn python() {
    let body = crlf(
        "--batch_1
Content-Type: multipart/mixed; boundary=changeset_7

--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 0

POST http://127.0.0.1:10002/dev/Posts HTTP/1.1
x-ms-version: 2019-02-02
DataServiceVersion: 3.0
Prefer: return-no-content
Content-Type: application/json;odata=nometadata
Accept: application/json;odata=minimalmetadata
Content-Length: 120
x-ms-date: Wed, 04 Mar 2015 05:06:07 GMT
Date: Wed, 04 Mar 2015 05:06:07 GMT

{\"PartitionKey\": \"a\", \"PartitionKey@odata.type\": \"Edm.String\", \"RowKey\": \"1\", \"Rating\": 9}
--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 1

PATCH http://127.0.0.1:10002/dev/Posts(PartitionKey='a',RowKey='O%27%27Hare%22') HTTP/1.1
x-ms-version: 2019-02-02
DataServiceVersion: 3.0
If-Match: *
Content-Type: application/json
Accept: application/json
Content-Length: 17

{\"Rating\": 8}
--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 2

DELETE http://127.0.0.1:10002/dev/Posts(PartitionKey='a',RowKey='3') HTTP/1.1
If-Match: W/\"datetime'2015-03-04T05%3A06%3A07Z'\"
Accept: application/json;odata=minimalmetadata


--changeset_7--

--batch_1--
",
    );
    let request = Request::new("2019-02-02", body).with("Accept", "application/json");
    check(
        request,
        &[
            "Posts",
            "insert a|1 Rating=Int32(9) -> minimal no-content",
            "merge a|O'Hare\" if any Rating=Int32(8) -> minimal",
            "delete a|3 if 2015-03-04T05:06:07Z -> minimal",
        ],
    );
}

/// @azure/data-tables for JavaScript: lower-case part headers, an empty line before the change set, two before bodies.
#[test]
fn javascript() {
    let body = crlf(
        "--batch_1
content-type: multipart/mixed; boundary=changeset_7


--changeset_7
content-type: application/http
content-transfer-encoding: binary

POST https://dev.table.core.windows.net/Posts HTTP/1.1
Content-Type: application/json;odata=nometadata
Accept: application/json
DataServiceVersion: 3.0;
Prefer: return-no-content


{\"PartitionKey\":\"a\",\"RowKey\":\"1\"}
--changeset_7
content-type: application/http
content-transfer-encoding: binary

PUT https://dev.table.core.windows.net/Posts(PartitionKey='a',RowKey='2') HTTP/1.1
Content-Type: application/json;odata=nometadata
Accept: application/json
DataServiceVersion: 3.0;
If-Match: *


{\"PartitionKey\":\"a\",\"RowKey\":\"2\",\"Rating\":1}
--changeset_7--
--batch_1--",
    );
    let request = Request::new("2019-02-02", body).with("Accept", "application/json").in_host_style();
    check(
        request,
        &["Posts", "insert a|1 -> minimal no-content", "replace a|2 if any Rating=Int32(1) -> minimal"],
    );
}

/// Azure.Data.Tables for .NET: no Accept outside, the format in the URL, a Host header inside.
#[test]
fn dotnet() {
    let body = crlf(
        "--batch_1
Content-Type: multipart/mixed; boundary=changeset_7

--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary

POST https://dev.table.core.windows.net/Posts?$format=application%2Fjson%3Bodata%3Dfullmetadata HTTP/1.1
Host: dev.table.core.windows.net
Accept: application/json
Prefer: return-no-content
DataServiceVersion: 3.0
Content-Type: application/json;odata=nometadata

{\"PartitionKey\":\"a\",\"RowKey\":\"1\"}
--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary

PATCH https://dev.table.core.windows.net/Posts(PartitionKey='a',RowKey='2')?$format=application%2Fjson%3Bodata%3Dminimalmetadata HTTP/1.1
Host: dev.table.core.windows.net
Accept: application/json
DataServiceVersion: 3.0
Content-Type: application/json

{\"Rating\":1}
--changeset_7--
--batch_1--
",
    );
    check(
        Request::new("2020-12-06", body).in_host_style(),
        &["Posts", "insert a|1 -> full no-content", "insert or merge a|2 Rating=Int32(1) -> minimal"],
    );
}

/// azure-data-tables for Java: `Accept: */*` outside, MERGE as a verb, no version inside.
#[test]
fn java() {
    let body = crlf(
        "--batch_1
Content-Type: multipart/mixed; boundary=changeset_7

--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary

MERGE https://dev.table.core.windows.net:443/Posts(PartitionKey='a',RowKey='1') HTTP/1.1
Accept: application/json;odata=minimalmetadata
Content-Type: application/json
Content-Length: 13

{\"Rating\":1}

--changeset_7--
--batch_1--
",
    );
    let request = Request::new("2020-12-06", body).with("Accept", "*/*").in_host_style();
    check(request, &["Posts", "insert or merge a|1 Rating=Int32(1) -> minimal"]);
}

/// aztables for Go: sorted header names in canonical form, escaped names of query options.
#[test]
fn go() {
    let body = crlf(
        "--batch_1
Content-Type: multipart/mixed; boundary=changeset_7

--changeset_7
Content-Transfer-Encoding: binary
Content-Type: application/http

POST https://dev.table.core.windows.net/Posts?%24format=application%2Fjson%3Bodata%3Dminimalmetadata HTTP/1.1
Accept: application/json;odata=minimalmetadata
Content-Type: application/json
Dataserviceversion: 3.0
Prefer: return-no-content
X-Ms-Version: 2019-02-02

{\"PartitionKey\":\"a\",\"RowKey\":\"1\",\"Timestamp\":\"0001-01-01T00:00:00Z\"}
--changeset_7
Content-Transfer-Encoding: binary
Content-Type: application/http

DELETE https://dev.table.core.windows.net/Posts%28PartitionKey=%27a%27,RowKey=%272%27%29?%24format=application%2Fjson%3Bodata%3Dminimalmetadata HTTP/1.1
Accept: application/json;odata=minimalmetadata
If-Match: *
X-Ms-Version: 2019-02-02


--changeset_7--
--batch_1--
",
    );
    let request = Request::new("2019-02-02", body).with("Accept", "application/json;odata=minimalmetadata");
    check(
        request.in_host_style(),
        &["Posts", "insert a|1 -> minimal no-content", "delete a|2 if any -> minimal"],
    );
}

/// azure-storage for Node: LF alone, a charset before the boundary, the port in URLs, nothing after the last boundary,
/// a Content-ID from the second operation on, quotes escaped.
#[test]
fn legacy_node() {
    let body = "--batch_1
content-type: multipart/mixed;charset=\"utf-8\";boundary=changeset_7

--changeset_7
content-type: application/http
content-transfer-encoding: binary

POST https://dev.table.core.windows.net:443/Posts HTTP/1.1
accept: application/json;odata=minimalmetadata
maxdataserviceversion: 3.0;NetFx
prefer: return-no-content
content-type: application/json;odata=minimalmetadata;type=entry

{\"PartitionKey\":\"a\",\"RowKey\":\"1\"}
--changeset_7
content-type: application/http
content-transfer-encoding: binary

MERGE https://dev.table.core.windows.net:443/Posts(PartitionKey=%27a%27,RowKey=%272%20x%27) HTTP/1.1
if-match: *
accept: application/json;odata=minimalmetadata
content-id: 1
content-type: application/json;odata=minimalmetadata;type=entry

{\"Rating\":1}
--changeset_7--
--batch_1--";
    let request = Request::new("2017-04-17", body)
        .with("Content-Type", "multipart/mixed; charset=\"utf-8\"; boundary=batch_1")
        .in_host_style();
    check(
        request,
        &["Posts", "insert a|1 -> minimal no-content", "merge a|2 x if any Rating=Int32(1) -> minimal #1"],
    );
}

/// The same client puts a query directly into the batch.
#[test]
fn legacy_node_query() {
    let body = "--batch_1
content-type: application/http
content-transfer-encoding: binary

GET https://dev.table.core.windows.net:443/Posts(PartitionKey=%27a%27,RowKey=%271%27) HTTP/1.1
accept: application/json;odata=nometadata
content-id: 0

--batch_1--";
    check(Request::new("2017-04-17", body).in_host_style(), &["Posts", "get a|1 -> nometadata #0"]);
}

/// azure-storage for .NET up to 9: relative bodies without keys, MERGE, no lengths.
#[test]
fn legacy_dotnet() {
    let body = crlf(
        "--batch_1
Content-Type: multipart/mixed; boundary=changeset_7

--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary

POST http://127.0.0.1:10002/dev/Posts() HTTP/1.1
Accept: application/json;odata=minimalmetadata
Content-Type: application/json
Prefer: return-content
DataServiceVersion: 3.0;

{\"PartitionKey\":\"a\",\"RowKey\":\"1\"}
--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary

POST http://127.0.0.1:10002/dev/Posts(PartitionKey='a',RowKey='2') HTTP/1.1
X-HTTP-Method: MERGE
Accept: application/json;odata=nometadata
Content-Type: application/json
If-Match: W/\"x\"

{\"Rating\":1}
--changeset_7--
--batch_1--
",
    );
    check(
        Request::new("2017-07-29", body),
        &["Posts", "insert a|1 -> minimal content", "merge a|2 if never Rating=Int32(1) -> nometadata"],
    );
}

/// azure-cosmosdb-table for Python: relative URLs without the account.
#[test]
fn legacy_python() {
    let body = "--batch_1
Content-Type: multipart/mixed; boundary=changeset_7

--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary

PUT /Posts(PartitionKey='a',RowKey='1') HTTP/1.1
Content-ID: 1
Content-Type: application/json
Accept: application/json;odata=minimalmetadata
Content-Length: 12

{\"Rating\": 1}

--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary

DELETE /Posts(PartitionKey='a',RowKey='2') HTTP/1.1
Content-ID: 2
Accept: application/json;odata=minimalmetadata
If-Match: *

--changeset_7--
--batch_1--";
    let expected =
        ["Posts", "insert or replace a|1 Rating=Int32(1) -> minimal #1", "delete a|2 if any -> minimal #2"];
    check(Request::new("2017-04-17", body), &expected);
    check(Request::new("2017-04-17", body).in_host_style(), &expected);
}

/// azure-storage 0.20 for Python: Atom bodies, no Accept inside.
#[test]
fn atom_python() {
    let body = "--batch_1
Content-Type: multipart/mixed; boundary=changeset_7

--changeset_7
Content-Type: application/http
Content-Transfer-Encoding: binary

MERGE http://dev.table.core.windows.net/Posts(PartitionKey='a',RowKey='1') HTTP/1.1
Content-ID: 1
Content-Type: application/atom+xml;type=entry
If-Match: *
Content-Length: 588

<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>
<entry xmlns:d=\"http://schemas.microsoft.com/ado/2007/08/dataservices\" xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\" xmlns=\"http://www.w3.org/2005/Atom\" >
<title /><updated>2015-03-04T05:06:07.146183+00:00</updated><author><name /></author><id />
<content type=\"application/xml\">
    <m:properties xml:space=\"preserve\"><d:Text m:type=\"Edm.String\"> x </d:Text><d:RowKey m:type=\"Edm.String\">1</d:RowKey><d:PartitionKey m:type=\"Edm.String\">a</d:PartitionKey></m:properties></content></entry>
--changeset_7--
--batch_1--";
    let request = Request::new("2014-02-14", body).with("Accept", "application/atom+xml,application/xml");
    check(request.in_host_style(), &["Posts", "merge a|1 if any Text=String(\" x \") -> atom #1"]);
}

/// TX-21: keys reach the entity that they name, whatever they contain and however long they are.
#[test]
fn keys_are_exact() {
    let long = "x".repeat(1024);
    for (wire, key) in [
        ("a%2520b", "a%20b"),
        ("100%25", "100%"),
        ("a'',''b", "a','b"),
        ("a%27%27%2C%27%27b", "a','b"),
        ("')(=".replace('\'', "''").as_str(), "')(="),
        ("a+b", "a+b"),
        ("%C3%A9 é", "é é"),
        ("x HTTP", "x HTTP"),
        (long.as_str(), long.as_str()),
    ] {
        let body = change_set(&[delete("Posts", wire, "r")]);
        check(Request::new("2019-02-02", body), &["Posts", &format!("delete {key}|r if any -> minimal")]);
    }
}

/// A byte order mark, or anything else before the first boundary, is not part of the batch.
#[test]
fn before_the_first_boundary() {
    for start in ["\u{feff}", "\r\n\r\n", "This is a message in several parts.\r\n"] {
        let body = format!("{start}{}", change_set(&[delete("Posts", "a", "b")]));
        check(Request::new("2019-02-02", body), &["Posts", "delete a|b if any -> minimal"]);
    }
}

/// The forms of a URL.
#[test]
fn addresses() {
    for target in [
        "http://127.0.0.1:10002/dev/Posts(PartitionKey='a', RowKey='b')",
        "https://anything.example.org:443/Posts(PartitionKey='a',RowKey='b')",
        "/dev/Posts(PartitionKey='a',RowKey='b')",
        "/Posts( PartitionKey = 'a' , RowKey = 'b' )",
        "Posts(RowKey='b',PartitionKey='a')",
        "dev/Posts(PartitionKey='a',RowKey='b')",
        "/dev/Posts(PartitionKey='a',RowKey='b')?sv=2019-02-02&sig=x",
    ] {
        let body = change_set(&[format!("DELETE {target} HTTP/1.1\nIf-Match: *\n")]);
        check(Request::new("2019-02-02", body), &["Posts", "delete a|b if any -> minimal"]);
    }
    // A table may be called as the account is.
    for target in ["/dev(PartitionKey='a',RowKey='b')", "/dev/dev(PartitionKey='a',RowKey='b')"] {
        let body = change_set(&[format!("DELETE {target} HTTP/1.1\nIf-Match: *\n")]);
        check(Request::new("2019-02-02", body), &["dev", "delete a|b if any -> minimal"]);
    }
}

/// TX-08: a filter that fixes both keys names one entity, and gets the response of a query.
#[test]
fn queries_by_filter() {
    let query = |filter: &str| {
        let body = lone(&format!("GET /Posts()?$filter={filter} HTTP/1.1\nAccept: application/json\n"));
        show(&Request::new("2019-02-02", body))
    };
    let both = "QueryEntities -> minimal";
    assert_eq!(query("PartitionKey%20eq%20'a'%20and%20RowKey%20eq%20'b'"), both);
    assert_eq!(query("(RowKey eq 'b') and (PartitionKey eq 'a')"), both);
    assert_eq!(query("PartitionKey eq 'a' and RowKey eq 'b' and Rating gt 3"), both);
    let rejected = "rejected Some(0): InvalidInput: One of the request inputs is not valid.";
    assert_eq!(query(""), rejected);
    assert_eq!(query("PartitionKey eq 'a'"), rejected);
    assert_eq!(query("PartitionKey eq 'a' or RowKey eq 'b'"), rejected);
    assert_eq!(query("PartitionKey ge 'a' and RowKey eq 'b'"), rejected);
}
