//! The layouts, with test data. The bytes match those of recorded responses.

use lazuli_model::{PackedRow, Properties, Property, Value};

use super::*;
use crate::Head;
use crate::http::query::Query;
use crate::http::url::Base;
use crate::table::decode;

const TIME: &str = "2015-03-04T05:06:07.0809Z";

fn context(version: &str) -> Context {
    Context {
        account: "blogs".into(),
        base: Base::new("https", "blogs.table.example.org", None),
        now: DateTime::parse("2015-03-04T05:06:08.5Z").unwrap(),
        request_id: "id".into(),
        version: ApiVersion::parse(version).unwrap(),
    }
}

/// The format of a response to a client that requests Atom.
fn wanted(select: Option<&str>) -> ResponseFormat {
    let query = select.map(|names| format!("$select={names}")).unwrap_or_default();
    let head = Head { method: "GET", target: "/", fields: &[] };
    let version = ApiVersion::parse("2014-02-14").unwrap();
    let (wanted, rejection) =
        decode::response_format(&head, Query(&query), version, &crate::table::Resource::Service);
    assert_eq!(rejection, None);
    wanted
}

fn row(partition: &str, row: &str, properties: &[(&str, Value)]) -> StoredEntity {
    let list = properties.iter().map(|(name, value)| Property { name: (*name).into(), value: value.clone() });
    StoredEntity {
        partition: partition.into(),
        row: row.into(),
        timestamp: DateTime::parse(TIME).unwrap(),
        properties: PackedRow::pack(&Properties::new(list.collect()).unwrap()),
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn entry_text(version: &str, select: Option<&str>, stored: &StoredEntity) -> String {
    text(entity(&context(version), &wanted(select), "Posts", stored).unwrap())
}

/// The properties of an entry on one line.
#[track_caller]
fn check_properties(select: Option<&str>, properties: &[(&str, Value)], expected: &str) {
    let written = entry_text("2014-02-14", select, &row("p", "r", properties));
    let start = written.find("<m:properties>").unwrap() + "<m:properties>".len();
    let end = written.find("</m:properties>").unwrap();
    let system = "<d:PartitionKey>p</d:PartitionKey><d:RowKey>r</d:RowKey><d:Timestamp m:type=\"Edm.DateTime\">2015-03-04T05:06:07.0809Z</d:Timestamp>";
    assert_eq!(written[start..end].replace(system, ""), expected);
}

/// WR-01, WR-03, WR-04, WR-05.
#[test]
fn an_entry_on_one_line() {
    let stored = row("a&b", "O'Hare", &[("Rating", Value::Int32(9)), ("Text", Value::String("hi".into()))]);
    assert_eq!(
        entry_text("2013-08-15", None, &stored),
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
         <entry xml:base=\"https://blogs.table.example.org/\" xmlns=\"http://www.w3.org/2005/Atom\" xmlns:d=\"http://schemas.microsoft.com/ado/2007/08/dataservices\" xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\" m:etag=\"W/&quot;datetime'2015-03-04T05%3A06%3A07.0809Z'&quot;\">\
         <id>https://blogs.table.example.org/Posts(PartitionKey='a%26b',RowKey='O''Hare')</id>\
         <category term=\"blogs.Posts\" scheme=\"http://schemas.microsoft.com/ado/2007/08/dataservices/scheme\" />\
         <link rel=\"edit\" title=\"Posts\" href=\"Posts(PartitionKey='a%26b',RowKey='O''Hare')\" />\
         <title /><updated>2015-03-04T05:06:08Z</updated><author><name /></author>\
         <content type=\"application/xml\"><m:properties>\
         <d:PartitionKey>a&amp;b</d:PartitionKey><d:RowKey>O'Hare</d:RowKey>\
         <d:Timestamp m:type=\"Edm.DateTime\">2015-03-04T05:06:07.0809Z</d:Timestamp>\
         <d:Rating m:type=\"Edm.Int32\">9</d:Rating><d:Text>hi</d:Text>\
         </m:properties></content></entry>"
    );
}

#[test]
fn an_indented_entry() {
    let stored = row("1", "2", &[("Rating", Value::Int32(9)), ("Text", Value::String("hi".into()))]);
    let expected = r#"<?xml version="1.0" encoding="utf-8" standalone="yes"?>
<entry xml:base="https://blogs.table.example.org/" xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" m:etag="W/&quot;datetime'2015-03-04T05%3A06%3A07.0809Z'&quot;" xmlns="http://www.w3.org/2005/Atom">
  <id>https://blogs.table.example.org/Posts(PartitionKey='1',RowKey='2')</id>
  <title type="text"></title>
  <updated>2015-03-04T05:06:08Z</updated>
  <author>
    <name />
  </author>
  <link rel="edit" title="Posts" href="Posts(PartitionKey='1',RowKey='2')" />
  <category term="blogs.Posts" scheme="http://schemas.microsoft.com/ado/2007/08/dataservices/scheme" />
  <content type="application/xml">
    <m:properties>
      <d:PartitionKey>1</d:PartitionKey>
      <d:RowKey>2</d:RowKey>
      <d:Timestamp m:type="Edm.DateTime">2015-03-04T05:06:07.0809Z</d:Timestamp>
      <d:Rating m:type="Edm.Int32">9</d:Rating>
      <d:Text>hi</d:Text>
    </m:properties>
  </content>
</entry>"#;
    for version in ["2009-04-14", "2009-09-19", "2011-08-18"] {
        assert_eq!(entry_text(version, None, &stored), expected.replace('\n', "\r\n"));
    }
}

#[test]
fn feeds() {
    let rows = [row("p", "1", &[]), row("p", "2", &[])];
    let line = text(entities(&context("2014-02-14"), &wanted(Some("RowKey")), "Posts", &rows).unwrap());
    let entry = |row: &str| {
        format!(
            "<entry m:etag=\"W/&quot;datetime'2015-03-04T05%3A06%3A07.0809Z'&quot;\"><id>https://blogs.table.example.org/Posts(PartitionKey='p',RowKey='{row}')</id><category term=\"blogs.Posts\" scheme=\"http://schemas.microsoft.com/ado/2007/08/dataservices/scheme\" /><link rel=\"edit\" title=\"Posts\" href=\"Posts(PartitionKey='p',RowKey='{row}')\" /><title /><updated>2015-03-04T05:06:08Z</updated><author><name /></author><content type=\"application/xml\"><m:properties><d:RowKey>{row}</d:RowKey></m:properties></content></entry>"
        )
    };
    let head = "<?xml version=\"1.0\" encoding=\"utf-8\"?><feed xml:base=\"https://blogs.table.example.org/\" xmlns=\"http://www.w3.org/2005/Atom\" xmlns:d=\"http://schemas.microsoft.com/ado/2007/08/dataservices\" xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><id>https://blogs.table.example.org/Posts</id><title type=\"text\">Posts</title><updated>2015-03-04T05:06:08Z</updated><link rel=\"self\" title=\"Posts\" href=\"Posts\" />";
    assert_eq!(line, format!("{head}{}{}</feed>", entry("1"), entry("2")));
    let none = text(entities(&context("2014-02-14"), &wanted(None), "Posts", &[]).unwrap());
    assert_eq!(none, format!("{head}<author><name /></author></feed>"));
}

#[test]
fn an_indented_feed() {
    let names = ["Posts".to_owned()];
    let head = r#"<?xml version="1.0" encoding="utf-8" standalone="yes"?>
<feed xml:base="https://blogs.table.example.org/" xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" xmlns="http://www.w3.org/2005/Atom">
  <title type="text">Tables</title>
  <id>https://blogs.table.example.org/Tables</id>
  <updated>2015-03-04T05:06:08Z</updated>
"#;
    let link = "  <link rel=\"self\" title=\"Tables\" href=\"Tables\" />\n";
    let entry = r#"  <entry>
    <id>https://blogs.table.example.org/Tables('Posts')</id>
    <title type="text"></title>
    <updated>2015-03-04T05:06:08Z</updated>
    <author>
      <name />
    </author>
    <link rel="edit" title="Tables" href="Tables('Posts')" />
    <category term="blogs.Tables" scheme="http://schemas.microsoft.com/ado/2007/08/dataservices/scheme" />
    <content type="application/xml">
      <m:properties>
        <d:TableName>Posts</d:TableName>
      </m:properties>
    </content>
  </entry>
"#;
    let author = "  <author>\n    <name />\n  </author>\n";
    let context = context("2011-08-18");
    let expected = format!("{head}{link}{entry}</feed>").replace('\n', "\r\n");
    assert_eq!(text(tables(&context, &names)), expected);
    let expected = format!("{head}{author}{link}</feed>").replace('\n', "\r\n");
    assert_eq!(text(tables(&context, &[])), expected);
}

#[test]
fn a_table_on_one_line() {
    let written = text(table(&context("2014-02-14"), "Posts"));
    assert!(written.contains("dataservices/metadata\"><id>https://blogs.table.example.org/Tables('Posts')</id><category term=\"blogs.Tables\""), "{written}");
    assert!(
        written.ends_with("<m:properties><d:TableName>Posts</d:TableName></m:properties></content></entry>")
    );
    assert!(!written.contains("m:etag"));
}

/// WR-05, WR-07.
#[test]
fn values() {
    check_properties(
        None,
        &[
            ("Bin", Value::Binary(vec![1, 2, 3, 4])),
            ("Yes", Value::Boolean(true)),
            ("Day", Value::DateTime(DateTime::parse("1973-10-04").unwrap())),
            ("Id", Value::Guid("C9DA6455-213d-42c9-9A79-3e9149a57833".parse().unwrap())),
            ("Big", Value::Int64(i64::MIN)),
            ("Empty", Value::String(String::new())),
            ("啊", Value::String("ꀕ<".into())),
        ],
        "<d:Bin m:type=\"Edm.Binary\">AQIDBA==</d:Bin><d:Yes m:type=\"Edm.Boolean\">true</d:Yes><d:Day m:type=\"Edm.DateTime\">1973-10-04T00:00:00Z</d:Day><d:Id m:type=\"Edm.Guid\">c9da6455-213d-42c9-9a79-3e9149a57833</d:Id><d:Big m:type=\"Edm.Int64\">-9223372036854775808</d:Big><d:Empty></d:Empty><d:啊>ꀕ&lt;</d:啊>",
    );
}

#[test]
fn doubles_are_those_of_xml_schema() {
    for (value, expected) in [
        (3.1, "3.1"),
        (5.0, "5"),
        (-0.0, "-0"),
        (1e20, "1E+20"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "INF"),
        (f64::NEG_INFINITY, "-INF"),
    ] {
        let expected = format!("<d:D m:type=\"Edm.Double\">{expected}</d:D>");
        check_properties(None, &[("D", Value::Double(value))], &expected);
    }
}

#[test]
fn spaces_at_the_ends_are_marked() {
    for (value, expected) in [
        (" a", "<d:S xml:space=\"preserve\"> a</d:S>"),
        ("a\n", "<d:S xml:space=\"preserve\">a\n</d:S>"),
        ("   ", "<d:S xml:space=\"preserve\">   </d:S>"),
        ("a b", "<d:S>a b</d:S>"),
    ] {
        check_properties(None, &[("S", Value::String(value.into()))], expected);
    }
}

/// WR-06, QY-06: a requested property that does not exist is null; a name that XML cannot represent does not
/// break the document.
#[test]
fn selection() {
    let properties = [("A", Value::Int32(1)), ("B", Value::Int32(2))];
    check_properties(Some("B"), &properties, "<d:B m:type=\"Edm.Int32\">2</d:B>");
    check_properties(
        Some("C,A,PartitionKey"),
        &properties,
        "<d:PartitionKey>p</d:PartitionKey><d:A m:type=\"Edm.Int32\">1</d:A><d:C m:null=\"true\" />",
    );
    check_properties(Some("x><y"), &properties, "<d:x_x003E__x003C_y m:null=\"true\" />");
}

/// WR-10.
#[test]
fn errors() {
    let line = "<?xml version=\"1.0\" encoding=\"utf-8\"?><error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><code>InvalidInput</code><message xml:lang=\"en-US\">a &lt; b\nRequestId:1</message></error>";
    let version = |text| ApiVersion::parse(text).unwrap();
    for one_line in ["2012-02-12", "2013-08-15"] {
        assert_eq!(text(error(version(one_line), "InvalidInput", "a < b\nRequestId:1")), line);
    }
    let indented = "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\r\n<error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">\r\n  <code>InvalidInput</code>\r\n  <message xml:lang=\"en-US\">a &lt; b\nRequestId:1</message>\r\n</error>";
    assert_eq!(text(error(version("2011-08-18"), "InvalidInput", "a < b\nRequestId:1")), indented);
    let prefixed = "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>X</m:code><m:message xml:lang=\"en-US\">&amp;</m:message></m:error>";
    assert_eq!(text(prefixed_error("X", "&")), prefixed);
}

#[test]
fn service_documents() {
    let line = text(service_document(&context("2014-02-14")));
    assert_eq!(
        line,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><service xml:base=\"https://blogs.table.example.org/\" xmlns=\"http://www.w3.org/2007/app\" xmlns:atom=\"http://www.w3.org/2005/Atom\"><workspace><atom:title>Default</atom:title><collection href=\"Tables\"><atom:title>Tables</atom:title></collection></workspace></service>"
    );
    let indented = text(service_document(&context("2009-09-19")));
    assert!(
        indented
            .contains("\r\n    <collection href=\"Tables\">\r\n      <atom:title>Tables</atom:title>\r\n")
    );
}
