//! `x-lazuli-explain`: how a query was executed.

use crate::support::{Request, Server, TestResponse};

const PARTITIONS: usize = 4;
const ROWS: usize = 10;

fn server() -> Server {
    let server = Server::start();
    server.create_table("Data");
    let mut client = server.connect();
    for partition in 0..PARTITIONS {
        for row in 0..ROWS {
            let body = format!("{{\"PartitionKey\":\"p{partition}\",\"RowKey\":\"r{row}\",\"Age\":{row}}}");
            assert_eq!(client.ask(&Request::post("/Data", &body)).status, 201);
        }
    }
    server
}

fn escaped(filter: &str) -> String {
    filter.replace(' ', "%20")
}

/// Plan, ranges, rows read, rows returned.
fn figures(response: &TestResponse) -> String {
    let names = ["x-lazuli-plan", "x-lazuli-ranges", "x-lazuli-rows-read", "x-lazuli-rows-returned"];
    names.map(|name| response.field(name).unwrap_or("-")).join(" ")
}

#[track_caller]
fn check(server: &Server, target: &str, expected: &str) {
    let response = server.connect().ask(&Request::get(&escaped(target)).with("x-lazuli-explain", "1"));
    assert_eq!(figures(&response), expected, "{target}");
    for name in ["x-lazuli-us-plan", "x-lazuli-us-scan", "x-lazuli-us-encode"] {
        let is_number = response.field(name).is_some_and(|value| value.parse::<u64>().is_ok());
        assert_eq!(is_number, expected != "- - - -", "{target} {name}");
    }
}

/// QY-13 to QY-18, QY-22: each class, with the rows that it reads and those that it returns.
#[test]
fn queries_explain_themselves() {
    let server = server();
    let filter = |filter: &str, expected| check(&server, &format!("/Data()?$filter={filter}"), expected);
    filter("PartitionKey eq 'p1' and RowKey eq 'r3'", "point 1 1 1");
    filter("PartitionKey eq 'p1' and RowKey eq 'none'", "point 1 0 0");
    filter("PartitionKey eq 'p1' and (RowKey eq 'r3' or RowKey eq 'r5')", "multi-point 2 2 2");
    filter("PartitionKey eq 'p1' and RowKey ge 'r3' and RowKey lt 'r6' and Age gt 3", "row-range 1 3 2");
    filter("PartitionKey eq 'p1' and Age lt 2", "partition 1 10 2");
    filter("PartitionKey gt 'p1' and Age eq 2", "partition-range 1 20 2");
    filter("RowKey eq 'r3'", "table 1 40 4");
    filter("Age gt 100", "table 1 40 0");
    filter("PartitionKey eq 'p1' and PartitionKey eq 'p2'", "nothing 0 0 0");
    check(&server, "/Data()", "table 1 40 40");
    check(&server, "/Data()?$top=3", "table 1 3 3");
    check(&server, "/Data()?$top=0", "table 0 0 0");
    check(&server, "/Data(PartitionKey='p1',RowKey='r3')", "point 1 1 1");
    check(&server, "/Data(PartitionKey='p1',RowKey='none')", "point 1 0 0");
}

#[test]
fn only_queries_are_explained() {
    let server = server();
    check(&server, "/Tables", "- - - -");
    check(&server, "/None()", "- - - -");
    check(&server, "/Data()?$filter=Age eq", "- - - -");
}

#[test]
fn plans_are_explained_on_request_only() {
    let server = server();
    for request in [Request::get("/Data()"), Request::get("/Data()").with("x-lazuli-explain", "0")] {
        let response = server.connect().ask(&request);
        assert!(!response.head.to_ascii_lowercase().contains("x-lazuli"), "{}", response.head);
    }
}

/// The one query of a batch explains the batch.
#[test]
fn a_query_in_a_batch() {
    let server = server();
    let body = "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
        GET http://127.0.0.1/devstoreaccount1/Data(PartitionKey='p1',RowKey='r3') HTTP/1.1\r\nHost: 127.0.0.1\r\n\
        Accept: application/json;odata=nometadata\r\n\r\n\r\n--b--\r\n";
    let request = Request::post("/$batch", body)
        .set("Content-Type", "multipart/mixed; boundary=b")
        .with("x-lazuli-explain", "1");
    let response = server.connect().ask(&request);
    assert_eq!((response.status, figures(&response).as_str()), (202, "point 1 1 1"), "{}", response.text());
}

/// Web pages see the explanation under the same rules as any other header.
#[test]
fn web_pages_see_what_the_rules_expose() {
    let server = server();
    let properties = "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://a.example</AllowedOrigins>\
        <AllowedMethods>GET</AllowedMethods><AllowedHeaders>x-lazuli-explain</AllowedHeaders>\
        <ExposedHeaders>x-lazuli-p*,x-lazuli-ranges</ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds>\
        </CorsRule></Cors></StorageServiceProperties>";
    let set = Request::put("/?restype=service&comp=properties", properties);
    assert_eq!(server.connect().ask(&set).status, 202);
    let request = Request::get("/Data()").with("x-lazuli-explain", "1").with("Origin", "http://a.example");
    let response = server.connect().ask(&request);
    assert_eq!(response.field("Access-Control-Expose-Headers"), Some("x-lazuli-ranges,x-lazuli-plan"));
}
