//! The samples of the founding documents, corrected where they do not follow their own grammar.

use lazuli_model::table::operation::{EntityChange, EntityPage, StoredEntity};
use lazuli_model::table::{Operation, Outcome};
use lazuli_model::{DateTime, ErrorCode, Failure, PackedRow, TableName};
use lazuli_protocol::http::head::Field;
use lazuli_protocol::http::query::Query;
use lazuli_protocol::http::response::Context;
use lazuli_protocol::http::url::Base;
use lazuli_protocol::table::path::Resource;
use lazuli_protocol::table::{decode, encode};
use lazuli_protocol::{ApiVersion, Head};

use crate::support::{Request, lone, show, text};

/// Listing 4.1 of the thesis as printed, with the spaces and line breaks of the typesetter.
const LISTING_4_1: &str = r#"<entry xmlns:d="http://schemas.microsoft.com/ado/2007/08/ dataservices" xmlns:m="http://

schemas.microsoft.com/ado/2007/08/ dataservices/metadata" xmlns="http://www.w3.org
/2005/Atom">

<title />
<updated>2009-11-04T17:13:11 .7541410Z</updated>
<author>

<name />
</author>
<id />
<content type="application/xml">

<m:properties>
<d:BodyShape>Dinky</d:BodyShape>
<d:NoOfStrings m:type="Edm.Int32">6</d:NoOfStrings>
<d:NoOfFrets m:type="Edm.Int32">24</d:NoOfFrets>
<d:Color>Transparant Blue</d:Color>
<d:Price m:type="Edm.Int32">55000</d:Price>
<d:Description />
<d:Category>Guitar , electric</d:Category>
<d:PartitionKey>Jackson</d:PartitionKey>
<d:RowKey>DK2</d:RowKey>
<d:Timestamp m:type="Edm.DateTime">0001-01-01T00:00:00 .0000000</d:Timestamp>
<d:Bridge>Floyd Rose licenced</d:Bridge>

</m:properties>
</content>

</entry>"#;

/// Listing 4.2 as it was sent: lines that the typesetter broke are joined and indented again.
const LISTING_4_2: &str = r#"<?xml version="1.0" encoding="utf-8" standalone="yes"?>
<feed xml:base="http://phaedrus.table.core.windows.net/" xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" xmlns="http://www.w3.org/2005/Atom">
  <title type="text">Products</title>
  <id>http://phaedrus.table.core.windows.net/Products</id>
  <updated>2009-11-04T17:13:36Z</updated>
  <link rel="self" title="Products" href="Products" />
  <entry m:etag="W/&quot;datetime'2009-11-04T17%3A13%3A36.1310819Z'&quot;">
    <id>http://phaedrus.table.core.windows.net/Products(PartitionKey='Jackson',RowKey='DK2')</id>
    <title type="text"></title>
    <updated>2009-11-04T17:13:36Z</updated>
    <author>
      <name />
    </author>
    <link rel="edit" title="Products" href="Products(PartitionKey='Jackson',RowKey='DK2')" />
    <category term="phaedrus.Products" scheme="http://schemas.microsoft.com/ado/2007/08/dataservices/scheme" />
    <content type="application/xml">
      <m:properties>
        <d:PartitionKey>Jackson</d:PartitionKey>
        <d:RowKey>DK2</d:RowKey>
        <d:Timestamp m:type="Edm.DateTime">2009-11-04T17:13:36.1310819Z</d:Timestamp>
        <d:BodyShape>Dinky</d:BodyShape>
        <d:NoOfStrings m:type="Edm.Int32">6</d:NoOfStrings>
        <d:NoOfFrets m:type="Edm.Int32">24</d:NoOfFrets>
        <d:Color>Transparant Blue</d:Color>
        <d:Price m:type="Edm.Int32">55000</d:Price>
        <d:Description></d:Description>
        <d:Category>Guitar , electric</d:Category>
        <d:Bridge>Floyd Rose licenced</d:Bridge>
      </m:properties>
    </content>
  </entry>
</feed>"#;

/// WR-02, WR-07, WR-08, GS-07: the guitar goes in as listing 4.1 and comes back as listing 4.2.
#[test]
fn the_guitar() {
    for version in [ApiVersion::NONE, ApiVersion::V2009_04_14, ApiVersion::V2011_08_18] {
        let fields = [Field { name: "Content-Type", value: "application/atom+xml" }];
        let head = Head { method: "POST", target: "/Products", fields: &fields };
        let resource = Resource::Entities(TableName::new("Products").unwrap());
        let (wanted, rejection) = decode::response_format(&head, Query(""), version, &resource);
        assert_eq!(rejection, None);
        let intent = decode::intent(&head, Query(""), version, resource).unwrap();
        let operation = intent.with_body(LISTING_4_1.as_bytes()).unwrap();
        let Operation::Write { write, .. } = operation else { panic!("an insert is a write") };
        let EntityChange::Insert(properties) = &write.change else { panic!("POST inserts") };
        let row = StoredEntity {
            partition: write.key.partition.as_str().into(),
            row: write.key.row.as_str().into(),
            timestamp: DateTime::parse("2009-11-04T17:13:36.1310819Z").unwrap(),
            properties: PackedRow::pack(properties),
        };
        let context = Context {
            account: "phaedrus".into(),
            base: Base::new("http", "phaedrus.table.core.windows.net", None),
            now: DateTime::parse("2009-11-04T17:13:36.5Z").unwrap(),
            request_id: String::new(),
            version,
        };
        let page = Outcome::Page(EntityPage { rows: vec![row], ..EntityPage::default() });
        let response = encode::outcome(&context, &wanted, "Products", &page).unwrap();
        assert_eq!(text(&response), LISTING_4_2.replace('\n', "\r\n"));
        assert_eq!(response.get("Content-Type"), Some("application/atom+xml;charset=utf-8"));
    }
}

fn blog(row: &str, text: &str, id: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="utf-8" standalone="yes"?>
<entry xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" xmlns="http://www.w3.org/2005/Atom">
<title />
<updated>2009-04-30T20:45:13.7155321Z</updated>
<author>
<name />
</author>
{id}
<content type="application/xml">
<m:properties>
<d:PartitionKey>Channel_19</d:PartitionKey>
<d:RowKey>{row}</d:RowKey>
<d:Timestamp m:type="Edm.DateTime">0001-01-01T00:00:00</d:Timestamp>
<d:Rating m:type="Edm.Int32">9</d:Rating>
<d:Text>{text}</d:Text>
</m:properties>
</content>
</entry>"#
    )
}

/// The sample of the documentation of 2009: its elements closed by their own names, its last request with a protocol.
fn four_operations() -> String {
    let host = "http://myaccount.tables.core.windows.net/Blogs";
    let third = format!("<id>{host}(PartitionKey='Channel_19',RowKey='3')</id>");
    let operations = [
        (format!("POST {host}"), blog("1", ".NET...", "<id />")),
        (format!("POST {host}"), blog("2", "Azure...", "<id />")),
        (format!("MERGE {host}(PartitionKey='Channel_19', RowKey='3')"), blog("3", "PDC 2008...", &third)),
        (format!("DELETE {host}(PartitionKey='Channel_19', RowKey='4')"), blog("3", "PDC 2008...", &third)),
    ];
    let mut body = "--batch_a1e9d677-b28b-435e-a89e-87e6a768a431
Content-Type: multipart/mixed; boundary=changeset_8a28b620-b4bb-458c-a177-0959fb14c977

"
    .to_owned();
    for (index, (line, entry)) in operations.iter().enumerate() {
        body.push_str(&format!(
            "--changeset_8a28b620-b4bb-458c-a177-0959fb14c977
Content-Type: application/http
Content-Transfer-Encoding: binary

{line} HTTP/1.1
Content-ID: {}
Content-Type: application/atom+xml;type=entry
Content-Length: ###

{entry}
",
            index + 1
        ));
    }
    body.push_str("--changeset_8a28b620-b4bb-458c-a177-0959fb14c977--\n--batch_a1e9d677-b28b-435e-a89e-87e6a768a431--\n");
    body
}

fn of_2009(body: String) -> Request {
    Request::new("2009-04-14", body.replace('\n', "\r\n"))
        .with("Accept", "application/atom+xml,application/xml")
        .with("Accept-Charset", "UTF-8")
        .with("DataServiceVersion", "1.0;NetFx")
        .with("MaxDataServiceVersion", "1.0;NetFx")
        .with("Content-Type", "multipart/mixed; boundary=batch_a1e9d677-b28b-435e-a89e-87e6a768a431")
}

/// TX-19: two inserts, a merge and a delete; the lengths stay the placeholders that they are in the document.
#[test]
fn four_operations_of_2009() {
    let request = of_2009(four_operations());
    assert_eq!(
        show(&request),
        "Blogs
insert Channel_19|1 Rating=Int32(9) Text=String(\".NET...\") -> atom #1
insert Channel_19|2 Rating=Int32(9) Text=String(\"Azure...\") -> atom #2
merge Channel_19|3 if any Rating=Int32(9) Text=String(\"PDC 2008...\") -> atom #3
delete Channel_19|4 if any -> atom #4"
    );
    let response = text(&request.respond(None));
    let statuses: Vec<_> = response.split("HTTP/1.1 ").skip(1).map(|part| &part[..3]).collect();
    assert_eq!(statuses, ["201", "201", "204", "204"]);
}

/// The documentation's sample of a failure: the fourth operation, by its index and its Content-ID (erratum E12).
#[test]
fn a_failure_of_2009() {
    let failure = Failure::from(ErrorCode::InvalidInput).at(3);
    let response = text(&of_2009(four_operations()).respond(Some(failure)));
    let part = "HTTP/1.1 400 Bad Request
Content-ID: 4
Cache-Control: no-cache
DataServiceVersion: 1.0;
Content-Type: application/xml

<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>
<error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">
  <code>InvalidInput</code>
  <message xml:lang=\"en-US\">3:One of the request inputs is not valid.";
    assert!(response.contains(&part.replace('\n', "\r\n")), "{response}");
    assert_eq!(response.matches("HTTP/1.1 ").count(), 1);
}

/// The documentation's sample of a query.
#[test]
fn a_query_of_2009() {
    let url = "http://myaccount.tables.core.windows.net/Blogs(PartitionKey='Channel_19',RowKey='2')";
    let request = Request::new("2009-04-14", lone(&format!("GET {url} HTTP/1.1\n")))
        .with("Accept", "application/atom+xml,application/xml");
    assert_eq!(show(&request), "Blogs\nget Channel_19|2 -> atom");
    let response = text(&request.respond(None));
    let head = "HTTP/1.1 200 OK
Cache-Control: no-cache
DataServiceVersion: 1.0;
Content-Type: application/atom+xml;charset=utf-8
ETag: W/";
    assert!(response.contains(&head.replace('\n', "\r\n")), "{response}");
}

/// TX-26: the request of the whitepaper's program when it saves its changes as a batch: inserts, then deletes,
/// then updates, those of fetched entities with their ETags.
#[test]
fn the_whitepapers_changes() {
    let host = "http://127.0.0.1:10002/dev/Blogs";
    let entry = blog("n", "...", "<id />").replace('\n', "");
    let if_match = "If-Match: W/\"datetime'2009-04-30T20%3A44%3A09.5789464Z'\"\n";
    let content =
        format!("Content-Type: application/atom+xml;type=entry\nContent-Length: {}\n\n{entry}", entry.len());
    let operation = |id: u8, line: &str, rest: &str| {
        format!(
            "--changeset_1\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n{line} HTTP/1.1\nContent-ID: {id}\n{rest}\n"
        )
    };
    let body = [
        "--batch_a1e9d677-b28b-435e-a89e-87e6a768a431\nContent-Type: multipart/mixed; boundary=changeset_1\n\n",
        &operation(1, &format!("POST {host}"), &content),
        &operation(2, &format!("DELETE {host}(PartitionKey='Channel_19',RowKey='2')"), &format!("{if_match}\n")),
        &operation(3, &format!("MERGE {host}(PartitionKey='Channel_19',RowKey='3')"), &format!("{if_match}{content}")),
        "--changeset_1--\n--batch_a1e9d677-b28b-435e-a89e-87e6a768a431--\n",
    ]
    .concat();
    assert_eq!(
        show(&of_2009(body)),
        "Blogs
insert Channel_19|n Rating=Int32(9) Text=String(\"...\") -> atom #1
delete Channel_19|2 if 2009-04-30T20:44:09.5789464Z -> atom #2
merge Channel_19|3 if 2009-04-30T20:44:09.5789464Z Rating=Int32(9) Text=String(\"...\") -> atom #3"
    );
}
