//! Decodes responses in the variants that different services send.

use super::*;
use crate::dynamic::Dynamic;

const PAGE: &str = r#"{"odata.metadata":"http://host/$metadata#T","value":[
  {"odata.etag":"W/\"datetime'2024-01-01T00%3A00%3A00Z'\"","PartitionKey":"p\"q","RowKey":"r",
   "Timestamp":"2024-01-01T00:00:00Z","Big@odata.type":"Edm.Int64","Big":"9007199254740993","Age":30,
   "Late":"AQI=","Late@odata.type":"Edm.Binary","Half":0.5,"Nan@odata.type":"Edm.Double","Nan":"NaN",
   "Whole@odata.type":"Edm.Double","Whole":5,"When@odata.type":"Edm.DateTime","When":"2008-10-01T10:00:00Z",
   "Id@odata.type":"Edm.Guid","Id":"c9da6455-213d-42c9-9a79-3e9149a57833","Text":"a\nb","Flag":true,"None":null},
  {"PartitionKey":"p","RowKey":"s"}]}"#;

/// WR-14: types from annotations before or after the property, and from the JSON value.
#[test]
fn every_type_is_read() {
    let rows: Vec<Dynamic> = decode_page(PAGE.as_bytes()).unwrap();
    assert_eq!(rows.len(), 2);
    let row = &rows[0];
    assert_eq!((row.partition_key.as_str(), row.row_key.as_str()), ("p\"q", "r"));
    assert_eq!(row.get::<i64>("Big").unwrap(), Some(9_007_199_254_740_993));
    assert_eq!(row.get::<i32>("Age").unwrap(), Some(30));
    assert_eq!(row.get::<Vec<u8>>("Late").unwrap(), Some(vec![1, 2]));
    assert_eq!(row.get::<f64>("Half").unwrap(), Some(0.5));
    assert!(row.get::<f64>("Nan").unwrap().unwrap().is_nan());
    assert_eq!(row.get::<f64>("Whole").unwrap(), Some(5.0));
    assert_eq!(row.get::<DateTime>("When").unwrap(), DateTime::parse("2008-10-01T10:00:00Z"));
    assert_eq!(
        row.get::<lazuli_model::Guid>("Id").unwrap(),
        "c9da6455-213d-42c9-9a79-3e9149a57833".parse().ok()
    );
    assert_eq!(row.get::<String>("Text").unwrap().as_deref(), Some("a\nb"));
    assert_eq!(row.get::<bool>("Flag").unwrap(), Some(true));
    assert!(!row.props.contains("None"), "null is not a property");
    assert!(rows[1].props.is_empty());
    assert_eq!(rows[1].timestamp, None);
}

/// WR-14: the types of other data services, which no version of the service stores, are read as the stored type that holds
/// their values.
#[test]
fn types_of_other_services_are_read() {
    let body = br#"{"PartitionKey":"p","RowKey":"r","Byte@odata.type":"Edm.Byte","Byte":255,
        "SByte@odata.type":"Edm.SByte","SByte":-128,"Short@odata.type":"Edm.Int16","Short":"-32768",
        "Single@odata.type":"Edm.Single","Single":1.5,"Whole":2,"Whole@odata.type":"Edm.Single",
        "Price@odata.type":"Edm.Decimal","Price":"79228162514264337593543950335.5","Sum@odata.type":"Edm.Decimal","Sum":-3.25}"#;
    let row: Dynamic = decode_entity(body).unwrap();
    assert_eq!(row.get::<i32>("Byte").unwrap(), Some(255));
    assert_eq!(row.get::<i32>("SByte").unwrap(), Some(-128));
    assert_eq!(row.get::<i32>("Short").unwrap(), Some(-32768));
    assert_eq!(row.get::<f64>("Single").unwrap(), Some(1.5));
    assert_eq!(row.get::<f64>("Whole").unwrap(), Some(2.0));
    assert_eq!(row.get::<String>("Price").unwrap().as_deref(), Some("79228162514264337593543950335.5"));
    assert_eq!(row.get::<f64>("Sum").unwrap(), Some(-3.25));
    for wrong in [
        "Edm.Byte\",\"A\":256",
        "Edm.SByte\",\"A\":128",
        "Edm.Int16\",\"A\":40000",
        "Edm.Decimal\",\"A\":\"1e5\"",
    ] {
        let body = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"A@odata.type\":\"{wrong}}}");
        assert!(decode_entity::<Dynamic>(body.as_bytes()).is_err(), "{body}");
    }
}

/// WR-14: invalid pages and unknown types are errors, never a panic.
#[test]
fn invalid_pages_are_errors() {
    for body in [
        "",
        "[]",
        "{",
        r#"{"value":5}"#,
        r#"{"value":[5]}"#,
        r#"{"value":[{"A":[1]}]}"#,
        r#"{"value":[{"A@odata.type":"Edm.Int64","A":"x"}]}"#,
        r#"{"value":[{"A@odata.type":"Edm.Odd","A":"x"}]}"#,
        r#"{"value":[]} x"#,
        r#"{"value":[{"A@odata.type":"Edm.Double","A":"1e999"}]}"#,
        r#"{"value":[{"A@odata.type":"Edm.Double","A":"nan"}]}"#,
        r#"{"value":[{"A":1e999}]}"#,
        "{}",
        r#"{"odata.error":{"code":"InternalError"}}"#,
    ] {
        assert!(decode_page::<Dynamic>(body.as_bytes()).is_err(), "{body}");
    }
    assert_eq!(decode_page::<Dynamic>(br#"{"value":[]}"#).unwrap().len(), 0);
}

/// An entity that the type cannot decode is an error of the type; the response itself is valid.
#[test]
fn undecodable_entities_do_not_blame_the_response() {
    let body = br#"{"value":[{"PartitionKey":"p","RowKey":"r"}]}"#;
    let error = decode_page::<crate::Versioned<Dynamic>>(body).unwrap_err();
    assert_eq!(error.message(), "entity ('p', 'r'): property Timestamp: is missing");
}

/// CC-09: an entity without an ETag gets the one that follows from its Timestamp, not one that always matches.
#[test]
fn the_etag_follows_from_the_timestamp() {
    let body = br#"{"PartitionKey":"p","RowKey":"r","Timestamp":"2024-01-01T00:00:00.1234567Z"}"#;
    let read: crate::Versioned<Dynamic> = decode_entity(body).unwrap();
    assert_eq!(read.etag.as_str(), "W/\"datetime'2024-01-01T00%3A00%3A00.1234567Z'\"");
    assert_eq!(read.etag.timestamp(), Some(read.timestamp));
    let error =
        decode_entity::<crate::Versioned<Dynamic>>(br#"{"PartitionKey":"p","RowKey":"r"}"#).unwrap_err();
    assert!(error.to_string().contains("property Timestamp: is missing"), "{error}");
}
