//! Everything that is written can be read back, for all values; and no input causes a panic.

use lazuli_model::table::Operation;
use lazuli_model::table::operation::StoredEntity;
use lazuli_model::{DateTime, Guid, PackedRow, Properties, Property, Value};
use lazuli_protocol::http::percent;
use lazuli_protocol::http::response::Context;
use lazuli_protocol::http::url::Base;
use lazuli_protocol::table::batch::BatchPlan;
use lazuli_protocol::table::draft::EntityDraft;
use lazuli_protocol::table::media::{Format, MetadataLevel};
use lazuli_protocol::table::response_format::ResponseFormat;
use lazuli_protocol::table::url;
use lazuli_protocol::table::{atom, json};
use proptest::prelude::*;

use crate::support::{Request, change_set, lone, version};

fn value() -> impl Strategy<Value = Value> {
    let doubles = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE];
    let markup: Vec<char> =
        " \t\r\n<>&\"';]a\u{0}\u{1}\u{1f}\u{7f}\u{85}\u{2028}\u{fffe}\u{ffff}".chars().collect();
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Value::Binary),
        any::<bool>().prop_map(Value::Boolean),
        (DateTime::STORABLE_MIN.ticks()..=DateTime::MAX.ticks())
            .prop_map(|ticks| Value::DateTime(DateTime::from_ticks(ticks).unwrap())),
        any::<f64>().prop_map(Value::Double),
        proptest::sample::select(doubles.to_vec()).prop_map(Value::Double),
        any::<[u8; 16]>().prop_map(|bytes| Value::Guid(Guid(bytes))),
        any::<i32>().prop_map(Value::Int32),
        any::<i64>().prop_map(Value::Int64),
        any::<String>().prop_map(Value::String),
        proptest::collection::vec(proptest::sample::select(markup), 0..12)
            .prop_map(|chars| Value::String(chars.into_iter().collect())),
    ]
}

/// Any text that is a legal key.
fn key() -> impl Strategy<Value = String> {
    let troublesome: Vec<char> = "'%,+=()& \"é\u{10000}".chars().collect();
    prop_oneof![
        any::<String>()
            .prop_map(|text| text.chars().filter(|&c| !lazuli_model::table::key::is_forbidden(c)).collect()),
        proptest::collection::vec(proptest::sample::select(troublesome), 0..12)
            .prop_map(|chars| chars.into_iter().collect::<String>()),
    ]
}

fn properties() -> impl Strategy<Value = Vec<Property>> {
    proptest::collection::btree_map("[A-Za-z_é一-五][A-Za-z0-9_é一-五]{0,8}", value(), 0..12)
        .prop_map(|all| all.into_iter().map(|(name, value)| Property { name, value }).collect::<Vec<_>>())
}

fn context(text: &str) -> Context {
    Context {
        account: "dev".into(),
        base: Base::new("http", "127.0.0.1:10002", Some("dev")),
        now: DateTime::MAX,
        request_id: String::new(),
        version: version(text),
    }
}

fn stored(partition: &str, row: &str, list: &[Property]) -> StoredEntity {
    StoredEntity {
        partition: partition.into(),
        row: row.into(),
        timestamp: DateTime::STORABLE_MIN,
        properties: PackedRow::pack(&Properties::new(list.to_vec()).unwrap()),
    }
}

/// Is this the entity that was sent?
fn check(
    draft: EntityDraft<'_>,
    (partition, row, list): (String, String, Vec<Property>),
) -> Result<(), TestCaseError> {
    prop_assert_eq!((draft.partition, draft.row), (Some(partition.into()), Some(row.into())));
    prop_assert_eq!(draft.properties.len(), list.len());
    for ((name, value), sent) in draft.properties.iter().zip(&list) {
        prop_assert_eq!(name, &sent.name);
        prop_assert!(same(&value.as_ref().to_value(), &sent.value), "{:?} {:?}", value, sent.value);
    }
    Ok(())
}

/// Not-a-number is the same as itself here.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        _ => a == b,
    }
}

proptest! {
    /// An entity that is written as JSON reads back as it was: doubles to the last bit.
    #[test]
    fn json_entities(partition in key(), row in key(), list in properties(), full in any::<bool>()) {
        let level = if full { MetadataLevel::Full } else { MetadataLevel::Minimal };
        let wanted = ResponseFormat { format: Format::Json(level), prefer: None, select: None };
        let stored = stored(&partition, &row, &list);
        let written = json::write::entity(&context("2019-02-02"), &wanted, level, "Posts", &stored).unwrap();
        check(json::read::entity(&written).unwrap(), (partition, row, list))?;
    }

    /// An entity that is written as Atom, in either layout, reads back as it was.
    #[test]
    fn atom_entities(partition in key(), row in key(), list in properties(), old in any::<bool>()) {
        let stored = stored(&partition, &row, &list);
        let wanted = ResponseFormat { format: Format::Atom, prefer: None, select: None };
        let context = context(if old { "2011-08-18" } else { "2014-02-14" });
        let written = atom::write::entity(&context, &wanted, "Posts", &stored).unwrap();
        check(atom::read::entity(&written).unwrap(), (partition, row, list))?;
    }

    #[test]
    fn atom_tables(name in "[A-Za-z][A-Za-z0-9]{2,20}", old in any::<bool>()) {
        let written = atom::write::table(&context(if old { "2011-08-18" } else { "2014-02-14" }), &name);
        prop_assert_eq!(atom::read::table(&written), Ok(Some(name)));
    }

    /// The entity that a batch names is the one that a client meant, through quoting and escaping.
    #[test]
    fn keys_in_a_batch(partition in key(), row in key(), all_escaped in any::<bool>()) {
        let mut target = url::entity_url(&context("2019-02-02").base, "Posts", &partition, &row);
        if all_escaped {
            let mut escaped = Vec::new();
            percent::encode_into(&mut escaped, &format!("Posts(PartitionKey='{}',RowKey='{}')", partition.replace('\'', "''"), row.replace('\'', "''")));
            target = format!("/dev/{}", String::from_utf8(escaped).unwrap());
        }
        let body = change_set(&[format!("DELETE {target} HTTP/1.1\nIf-Match: *\n")]);
        let batch = Request::new("2019-02-02", body).decode().unwrap();
        let BatchPlan::Run(Operation::Batch { writes, .. }) = batch.plan else { panic!("{batch:?}") };
        prop_assert_eq!(writes[0].key.partition.as_str(), partition);
        prop_assert_eq!(writes[0].key.row.as_str(), row);
    }

    /// Random text gets a response as a batch, as an operation of a batch, and as a single operation.
    #[test]
    fn any_text_gets_a_response(text in "[-A-Za-z0-9 :;/()=',<>{}\\[\\]\"\r\n$%?]{0,120}", old in any::<bool>()) {
        let version = if old { "2011-08-18" } else { "2019-02-02" };
        for body in [text.clone(), format!("--batch_1\n{text}"), change_set(std::slice::from_ref(&text)), lone(&text)] {
            let response = Request::new(version, body).respond(None);
            prop_assert!(matches!(response.status, 202 | 400), "{}", response.status);
        }
    }

    #[test]
    fn any_bytes_get_a_response(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(Request::new("2019-02-02", bytes).respond(None).status, 400);
    }
}
