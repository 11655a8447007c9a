//! Accepted and rejected entries.

use lazuli_model::DateTime;
use proptest::prelude::*;

use super::*;
use crate::table::draft::DraftValue;

const OPEN: &str = r#"<entry xmlns="http://www.w3.org/2005/Atom" xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><content type="application/xml"><m:properties>"#;
const CLOSE: &str = "</m:properties></content></entry>";

fn entry(properties: &str) -> String {
    format!("{OPEN}{properties}{CLOSE}")
}

fn read(properties: &str) -> Result<EntityDraft<'static>, Failure> {
    entity(entry(properties).as_bytes())
}

#[track_caller]
fn check(property: &str, expected: Value) {
    let draft = read(property).unwrap_or_else(|failure| panic!("{property}: {failure}"));
    let values: Vec<_> = draft.properties.into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, [DraftValue::from(expected)], "{property}");
}

#[track_caller]
fn rejected(document: &str, code: ErrorCode, reason: &str) {
    let failure = entity(document.as_bytes()).expect_err(document);
    assert_eq!(failure.code, code, "{document}");
    assert!(failure.message.contains(reason), "{document}: {}", failure.message);
}

/// WR-05.
#[test]
fn values_of_all_types() {
    let string = |text: &str| Value::String(text.into());
    check("<d:P>hi</d:P>", string("hi"));
    check("<d:P m:type=\"Edm.String\">hi</d:P>", string("hi"));
    check("<d:P m:type=\"\">hi</d:P>", string("hi"));
    check("<d:P m:type='Edm.Int32'> 7 </d:P>", Value::Int32(7));
    check("<d:P m:type='Edm.Int64'>-9223372036854775808</d:P>", Value::Int64(i64::MIN));
    check("<d:P m:type='Edm.Boolean'>true</d:P>", Value::Boolean(true));
    check("<d:P m:type='Edm.Boolean'>0</d:P>", Value::Boolean(false));
    check("<d:P m:type='Edm.Double'>1E+20</d:P>", Value::Double(1e20));
    check("<d:P m:type='Edm.Double'>-INF</d:P>", Value::Double(f64::NEG_INFINITY));
    check("<d:P m:type='Edm.Binary'>AQID\n BA==</d:P>", Value::Binary(vec![1, 2, 3, 4]));
    check("<d:P m:type='Edm.Binary' />", Value::Binary(vec![]));
    let day = DateTime::parse("2009-11-04T17:13:11.754Z").unwrap();
    check("<d:P m:type='Edm.DateTime'>2009-11-04T17:13:11.754</d:P>", Value::DateTime(day));
    check(
        "<d:P m:type='Edm.Guid'>C9DA6455-213D-42c9-9a79-3e9149a57833</d:P>",
        Value::Guid("c9da6455-213d-42c9-9a79-3e9149a57833".parse().unwrap()),
    );
}

/// WR-07: an empty element is an empty string, and spaces in a string are part of it.
#[test]
fn texts() {
    let string = |text: &str| Value::String(text.into());
    check("<d:P />", string(""));
    check("<d:P></d:P>", string(""));
    check("<d:P>   </d:P>", string("   "));
    check("<d:P xml:space='preserve'> a\t\n b </d:P>", string(" a\t\n b "));
    check("<d:P>a\r\nb\rc</d:P>", string("a\nb\nc"));
    check("<d:P>a&#xD;&#10;b</d:P>", string("a\r\nb"));
    check("<d:P>&lt;&gt;&amp;&quot;&apos;&#x41;&#x10FFFF;</d:P>", string("<>&\"'A\u{10ffff}"));
    check("<d:P>a&#x1;&#xFFFE;&#0;</d:P>", string("a\u{1}\u{fffe}\u{0}"));
    check("<d:P>a<![CDATA[<b>&amp;]]>c</d:P>", string("a<b>&amp;c"));
    check("<d:P>a<!-- no -->b<?no ?>c</d:P>", string("abc"));
}

#[test]
fn keys_and_system_properties() {
    let draft = read("<d:PartitionKey m:type='Edm.String'> p</d:PartitionKey><d:RowKey/><d:Timestamp m:type='Edm.DateTime'>soon</d:Timestamp>").unwrap();
    assert_eq!((draft.partition.as_deref(), draft.row.as_deref()), (Some(" p"), Some("")));
    assert_eq!(draft.properties, []);
    let draft =
        read("<d:PartitionKey m:null='true' /><d:Timestamp m:type='Edm.Nothing' m:null='true' />").unwrap();
    assert_eq!(draft, EntityDraft { nulls: vec!["PartitionKey".into()], ..EntityDraft::default() });
    let typed = read("<d:RowKey m:type='Edm.Int32'>1</d:RowKey>").unwrap();
    assert_eq!(typed.clone().into_insert().map_err(|f| f.code), Err(ErrorCode::InvalidInput));
    assert!(typed.into_update().is_ok(), "those of the address count");
    let twice = entry("<d:RowKey>1</d:RowKey><d:RowKey>2</d:RowKey>");
    rejected(&twice, ErrorCode::DuplicatePropertiesSpecified, "");
}

/// An entity that was read and sent back had such a property twice.
#[test]
fn names_that_xml_cannot_hold_are_read_as_they_are_written() {
    let draft = read("<d:_x00AA_>1</d:_x00AA_><d:b_x00B5_ m:null='true' />").unwrap();
    assert_eq!(draft.properties, [("ª".into(), DraftValue::Text("1".into()))]);
    assert_eq!(draft.nulls, ["bµ"]);
}

/// WR-06.
#[test]
fn nulls_are_left_out() {
    assert_eq!(read("<d:P m:null='true' />").unwrap().properties, []);
    assert_eq!(read("<d:P m:type='Edm.Int32' m:null=' 1 '>x</d:P>").unwrap().properties, []);
    check("<d:P m:null='false'>a</d:P>", Value::String("a".into()));
}

/// A null counts as a specified property, and each property can be specified only once.
#[test]
fn a_null_beside_a_value_is_a_duplicate() {
    let null = "<d:P m:null='true' />";
    for beside in [null, "<d:P>a</d:P>", "<d:P m:type='Edm.Int32'>1</d:P>"] {
        let draft = read(&format!("{null}{beside}")).unwrap();
        let failure = draft.into_update().unwrap_err();
        assert_eq!(failure.code, ErrorCode::DuplicatePropertiesSpecified, "{beside}");
    }
    assert!(read(&format!("{null}<d:p>a</d:p>")).unwrap().into_update().is_ok(), "names have a letter case");
}

/// WR-01: the prefixes are the client's choice.
#[test]
fn prefixes_are_free() {
    let other = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?><!-- c -->
        <a:entry xmlns:a="http://www.w3.org/2005/Atom">
          <a:title/><a:author><a:name/></a:author><a:link rel="edit" href="x"/>
          <a:content type="application/xml"><properties xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"
            xmlns:x="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">
            <RowKey xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices" x:type="Edm.String">r</RowKey>
            <Other>ignored<Deep/></Other>
          </properties></a:content></a:entry>
        "#;
    let with_mark = format!("\u{feff}{other}");
    for document in [other, &with_mark] {
        let draft = entity(document.as_bytes()).unwrap();
        assert_eq!(draft, EntityDraft { row: Some("r".into()), ..EntityDraft::default() });
    }
    let bare = OPEN.replace("<content type=\"application/xml\">", "");
    let beside = format!("{bare}<d:RowKey>r</d:RowKey></m:properties></entry>");
    assert_eq!(entity(beside.as_bytes()).unwrap().row.as_deref(), Some("r"));
}

#[test]
fn order_is_kept() {
    let draft = read("<d:b>1</d:b><d:a>2</d:a>").unwrap();
    let names: Vec<_> = draft.properties.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn wrong_values() {
    for property in [
        "<d:P m:type='Edm.Int32'>x</d:P>",
        "<d:P m:type='Edm.Int32'>2147483648</d:P>",
        "<d:P m:type='Edm.Int32' />",
        "<d:P m:type='Edm.Boolean'>yes</d:P>",
        "<d:P m:type='Edm.Double'>inf</d:P>",
        "<d:P m:type='Edm.Double'>-1e400</d:P>",
        "<d:P m:type='Edm.DateTime'>yesterday</d:P>",
        "<d:P m:type='Edm.Guid'>1</d:P>",
        "<d:P m:type='Edm.Binary'>?</d:P>",
    ] {
        rejected(&entry(property), ErrorCode::InvalidValueType, "");
    }
    rejected(&entry("<d:P m:type='Edm.Decimal'>1</d:P>"), ErrorCode::InvalidInput, "'Edm.Decimal'");
    rejected(&entry("<d:P m:null='perhaps' />"), ErrorCode::InvalidInput, "'null'");
    rejected(&entry("<d:P><d:Q>1</d:Q></d:P>"), ErrorCode::InvalidInput, "elements in its value");
}

/// XML input is hostile input.
#[test]
fn hostile_documents() {
    let bad = |document: &str, reason: &str| rejected(document, ErrorCode::InvalidInput, reason);
    bad("", "well-formed");
    bad("   ", "well-formed");
    bad("{\"a\":1}", "well-formed");
    bad("<entry/>", "not an Atom entry");
    bad("<feed xmlns='http://www.w3.org/2005/Atom'/>", "not an Atom entry");
    bad(&entry("<d:P>"), "well-formed");
    bad(&entry("<d:P></d:Q>"), "well-formed");
    bad(&entry("</m:properties>"), "well-formed");
    bad(OPEN, "well-formed");
    bad(&format!("{}<entry/>", entry("")), "not an Atom entry");
    bad(&format!("{}text", entry("")), "well-formed");
    bad(&format!("{}&lt;", entry("")), "well-formed");
    bad(&format!("{}<?xml version='1.0'?>", entry("")), "well-formed");
    bad(&entry("<d:P a='1' a='2'/>"), "well-formed");
    bad(&entry("<d:P a=1/>"), "well-formed");
    bad(&entry("<q:P/>"), "prefix");
    bad(&entry("<d:P q:type='x'/>"), "prefix");
    bad(&entry("<d:P>&bomb;</d:P>"), "entity");
    bad(&entry("<d:P>&#xD800;</d:P>"), "entity");
    bad(&entry("<d:P>&#;</d:P>"), "entity");
    bad(&entry("<d:P>a&b</d:P>"), "well-formed");
    bad(&entry("<d:P>\u{1}</d:P>"), "character");
    let doctype = "<!DOCTYPE a [<!ENTITY b \"c\">]>";
    bad(&format!("{doctype}{}", entry("<d:P>&b;</d:P>")), "document type");
    bad(&format!("<?xml version='1.0' encoding='utf-16'?>{}", entry("")), "UTF-8");
    bad(&entry("").replace("application/xml", "text"), "content");
    for bytes in [b"\xff\xfe<\0e\0".as_slice(), b"\xfe\xff\0<\0e", b"<entry>\xff</entry>"] {
        let failure = entity(bytes).unwrap_err();
        assert_eq!(
            (failure.code, failure.message.as_ref()),
            (ErrorCode::InvalidInput, "The XML is not encoded in UTF-8.")
        );
    }
}

/// Input beyond a limit is rejected before it costs anything.
#[test]
fn floods() {
    let bad = |document: &str, reason: &str| rejected(document, ErrorCode::InvalidInput, reason);
    bad(&entry(&"<x>".repeat(200_000)), "deeper elements");
    rejected(&entry(&"<d:P/>".repeat(200_000)), ErrorCode::TooManyProperties, "more properties than allowed");
    let attributes: String = (0..200_000).map(|n| format!(" a{n}=''")).collect();
    bad(&entry(&format!("<d:P{attributes}/>")), "too many attributes");
    let namespaces: String = (0..200_000).map(|n| format!(" xmlns:a{n}='x'")).collect();
    bad(&entry(&format!("<d:P{namespaces}/>")), "well-formed");
    check(&format!("<d:P>{}</d:P>", "&amp;".repeat(200_000)), Value::String("&".repeat(200_000)));
    bad(&entry(&"<!--".repeat(200_000)), "well-formed");
    bad(&entry(&"<![CDATA[".repeat(200_000)), "well-formed");
}

#[test]
fn tables() {
    let name = |properties: &str| table(entry(properties).as_bytes()).map_err(|failure| failure.code);
    assert_eq!(name("<d:TableName m:type='Edm.String'>Posts</d:TableName>"), Ok(Some("Posts".into())));
    assert_eq!(name("<d:TableName>Posts</d:TableName>"), Ok(Some("Posts".into())));
    assert_eq!(name("<d:TableName m:null='true' />"), Ok(None));
    assert_eq!(name("<d:Other>Posts</d:Other>"), Ok(None));
    assert_eq!(name(""), Ok(None));
    assert_eq!(name("<d:TableName m:type='Edm.Int32'>1</d:TableName>"), Err(ErrorCode::InvalidValueType));
    let twice = "<d:TableName>a</d:TableName><d:TableName>b</d:TableName>";
    assert_eq!(name(twice), Err(ErrorCode::DuplicatePropertiesSpecified));
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = entity(&bytes);
        let _ = table(&bytes);
    }

    #[test]
    fn random_markup_never_panics(inside in "[<>/&;#'\" =!\\[\\]?a-zA-Z:\\-]{0,60}") {
        let _ = read(&inside);
        let _ = entity(inside.as_bytes());
    }
}
