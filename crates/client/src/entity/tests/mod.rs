//! Round trips of derived entities.

mod kinds;
mod parts;
mod wire_types;

use std::collections::HashSet;

use lazuli_client_derive::{Entity, Shape};
use lazuli_model::{DateTime, ErrorCode, Guid, Value};
use serde::{Deserialize, Serialize};

use super::*;
use crate::decode::{decode_entity, decode_page};
use crate::dynamic::Dynamic;
use crate::field::prop;

#[derive(Clone, Debug, PartialEq, Shape)]
#[table(rename_all = "PascalCase")]
struct Address {
    street: String,
    city: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Item {
    name: String,
    count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Color {
    Red,
    Blue,
}

impl std::fmt::Display for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Color::Red { "red" } else { "blue" })
    }
}

impl std::str::FromStr for Color {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "red" => Ok(Color::Red),
            "blue" => Ok(Color::Blue),
            _ => Err("no such color".to_owned()),
        }
    }
}

/// One field of each kind.
#[derive(Clone, Debug, PartialEq, Entity)]
#[table(name = "Everything", rename_all = "PascalCase")]
struct Everything {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    number: u32,
    #[table(timestamp)]
    changed: Option<DateTime>,
    #[table(etag)]
    version: Option<String>,
    flag: bool,
    small: i32,
    big: i64,
    real: f64,
    text: String,
    id: Guid,
    when: DateTime,
    bytes: Vec<u8>,
    maybe: Option<i32>,
    #[table(rename = "Other_Name")]
    renamed: i32,
    #[table(skip)]
    skipped: Option<String>,
    #[table(default)]
    since: i32,
    #[table(int64)]
    count: u64,
    #[table(int64)]
    maybe_count: Option<usize>,
    #[table(double)]
    ratio: i32,
    #[table(guid)]
    guid_text: String,
    #[table(binary)]
    blob: String,
    #[table(datetime)]
    seconds: i64,
    #[table(string)]
    color: Color,
    #[table(string)]
    maybe_color: Option<Color>,
    #[table(json)]
    items: Vec<Item>,
    #[table(indexed)]
    tags: Vec<String>,
    #[table(flatten, prefix = "Home_")]
    home: Address,
    #[table(flatten, prefix = "Work_")]
    work: Option<Address>,
    #[table(extra)]
    extra: Props,
}

fn everything() -> Everything {
    Everything {
        group: "g".into(),
        number: 7,
        changed: None,
        version: None,
        flag: true,
        small: -5,
        big: 1 << 40,
        real: f64::INFINITY,
        text: "it's \"text\"".into(),
        id: Guid([9; 16]),
        when: DateTime::parse("2008-10-01T10:00:00Z").unwrap(),
        bytes: vec![0, 255],
        maybe: None,
        renamed: 1,
        skipped: None,
        since: 3,
        count: 12,
        maybe_count: Some(5),
        ratio: 4,
        guid_text: "c9da6455-213d-42c9-9a79-3e9149a57833".into(),
        blob: "hello".into(),
        seconds: 86_400,
        color: Color::Blue,
        maybe_color: None,
        items: vec![Item { name: "a".into(), count: 1 }],
        tags: vec!["x".into(), "y".into()],
        home: Address { street: "Mekelweg".into(), city: None },
        work: None,
        extra: crate::props! { Free: 5_i64 }.unwrap(),
    }
}

fn round_trip<T: Entity>(entity: &T) -> T {
    decode_entity(&encode(entity).unwrap().body).unwrap()
}

/// LA-02, LA-10, FW-01, FW-04, DM-28: every kind of field is written and read back unchanged.
#[test]
fn every_field_round_trips() {
    let before = everything();
    assert_eq!(round_trip(&before), before);
    let full = Everything {
        maybe: Some(1),
        maybe_color: Some(Color::Red),
        work: Some(Address { street: "Damrak".into(), city: Some("Amsterdam".into()) }),
        ..before
    };
    assert_eq!(round_trip(&full), full);
    assert_eq!(Everything::TABLE, Some("Everything"));
    assert_eq!(full.row_key(), "0000000007");
}

/// LA-03: all properties, fixed and flexible, with their names and types in the table.
#[test]
fn names_and_types_in_the_table() {
    let props = everything().properties().unwrap();
    let listed: Vec<String> =
        props.iter().map(|(name, value)| format!("{name}:{}", &value.kind().name()[4..])).collect();
    assert_eq!(
        listed.join(" "),
        "Flag:Boolean Small:Int32 Big:Int64 Real:Double Text:String Id:Guid When:DateTime Bytes:Binary \
         Other_Name:Int32 Since:Int32 Count:Int64 MaybeCount:Int64 Ratio:Double GuidText:Guid Blob:Binary \
         Seconds:DateTime Color:String Items:String Tags_0:String Tags_1:String Home_Street:String Free:Int64"
    );
    for (name, value) in &props {
        assert_eq!(everything().value_of(name).as_ref(), Some(value), "{name}");
    }
    assert_eq!(everything().value_of("PartitionKey"), Some(Value::String("g".into())));
}

/// Typed fields have names and accept constants of their own type.
#[test]
fn fields_in_filters() {
    let filter = Everything::number().ge(5)
        & Everything::count().lt(100)
        & Everything::ratio().eq(4.0)
        & Everything::color().eq("blue")
        & Address::city().within("Home_").ne("Delft")
        & Everything::maybe().gt(0)
        & Everything::changed().gt(DateTime::STORABLE_MIN);
    assert_eq!(
        filter.to_string(),
        "RowKey ge '0000000005' and Count lt 100L and Ratio eq 4.0 and Color eq 'blue' and Home_City ne 'Delft' \
         and Maybe gt 0 and Timestamp gt datetime'1601-01-01T00:00:00Z'"
    );
    assert!((Everything::number().ge(5) & prop("Free").eq(5_i64)).holds(&everything()));
    assert!(!Everything::maybe().gt(0).holds(&everything()), "an absent property is not compared");
}

#[track_caller]
fn unreadable(body: &str, reason: &str) {
    let error = decode_entity::<Everything>(body.as_bytes()).expect_err("it cannot be decoded").to_string();
    assert!(error.contains(reason), "{error}");
}

/// Errors name the entity and the property that is missing or has another type.
#[test]
fn errors_name_the_property() {
    unreadable(
        r#"{"PartitionKey":"g","RowKey":"0000000001"}"#,
        "('g', '0000000001'): property Flag: is missing",
    );
    unreadable(r#"{"RowKey":"0000000001","Flag":1}"#, "property Flag: expected Edm.Boolean, found Edm.Int32");
    unreadable(r#"{"RowKey":"x"}"#, "property RowKey: the key 'x' is not a valid u32");
    unreadable(r#"{"Color":"green"}"#, "property Color: 'green': no such color");
    unreadable(r#"{"Count@odata.type":"Edm.Int64","Count":"-1"}"#, "-1 does not fit into u64");
}

/// LA-06: entities that the service would reject are rejected before they are sent.
#[test]
fn entities_are_checked_before_they_are_sent() {
    #[track_caller]
    fn rejected(change: impl FnOnce(&mut Everything), code: ErrorCode) {
        let mut entity = everything();
        change(&mut entity);
        assert_eq!(encode(&entity).expect_err("it is rejected").code(), Some(code));
    }
    rejected(|e| e.group = "a/b".into(), ErrorCode::OutOfRangeInput);
    let slash = encode(&Everything { group: "a/b".into(), ..everything() }).unwrap_err();
    assert!(slash.message().starts_with("the PartitionKey \"a/b\" contains '/'"), "{slash}");
    rejected(|e| e.group = "a".repeat(1025), ErrorCode::KeyValueTooLarge);
    rejected(|e| e.text = "a".repeat(40_000), ErrorCode::PropertyValueTooLarge);
    rejected(|e| e.tags = vec![String::new(); 300], ErrorCode::TooManyProperties);
    rejected(|e| e.when = DateTime::MIN, ErrorCode::OutOfRangeInput);
    rejected(|e| drop(e.extra.set("Flag", 1)), ErrorCode::DuplicatePropertiesSpecified);
    assert!(encode(&Everything { guid_text: "not a guid".into(), ..everything() }).is_err());
    assert!(encode(&Everything { count: u64::MAX, ..everything() }).is_err());
}

#[derive(Clone, Debug, PartialEq, Entity)]
#[table(kind = "Product", rename_all = "PascalCase")]
struct Product {
    #[table(partition_key)]
    brand: String,
    #[table(row_key)]
    type_number: String,
    price: i32,
    #[table(extra)]
    extra: Props,
}

#[derive(Clone, Debug, PartialEq, Entity)]
#[table(kind = "Product.Guitar", rename_all = "PascalCase")]
struct Guitar {
    #[table(flatten)]
    base: Product,
    no_of_strings: i32,
}

#[derive(Clone, Debug, PartialEq, Entity)]
#[table(name = "Products", kind = "Product")]
enum AnyProduct {
    Product(Product),
    Guitar(Guitar),
    #[table(other)]
    Other(Dynamic),
}

fn guitar() -> Guitar {
    let extra = crate::props! { Bridge: "fixed" }.unwrap();
    let base = Product { brand: "Gibson".into(), type_number: "SG".into(), price: 5, extra };
    Guitar { base, no_of_strings: 6 }
}

/// LA-04, LA-11: a struct that extends another one has its keys, its properties and its flexible properties.
#[test]
fn extended_structs() {
    assert_eq!(round_trip(&guitar()), guitar());
    let props = guitar().properties().unwrap();
    assert_eq!(
        format!("{props:?}"),
        r#"{"Price": Int32(5), "Bridge": String("fixed"), "NoOfStrings": Int32(6), "_Type": String("Entity/Product/Guitar/")}"#
    );
    assert_eq!(guitar().partition_key(), "Gibson");
    assert_eq!(guitar().value_of("_Type"), Some(Value::String("Entity/Product/Guitar/".into())));
    assert_eq!(guitar().value_of("Price"), Some(Value::Int32(5)));
}

/// LA-16, LA-12, CL-10: each row is decoded as its own kind; an unknown or unsuitable row keeps all its properties.
#[test]
fn kinds_are_distinguished() {
    let body = |kind: &str, rest: &str| {
        format!(r#"{{"PartitionKey":"Gibson","RowKey":"SG","Price":5,"_Type":"{kind}"{rest}}}"#)
    };
    let read = |body: String| decode_entity::<AnyProduct>(body.as_bytes()).unwrap();
    let known = read(body("Entity/Product/Guitar/", r#","NoOfStrings":6,"Bridge":"fixed""#));
    assert_eq!(known, AnyProduct::from(guitar()));
    assert!(matches!(read(body("Entity/Product/", "")), AnyProduct::Product(_)));
    for other in [
        body("Entity/Product/Pedal/", ""),
        body("Entity/Product/Guitar/", r#","NoOfStrings":"six""#),
        r#"{"PartitionKey":"p","RowKey":"r"}"#.to_owned(),
    ] {
        assert!(matches!(read(other.clone()), AnyProduct::Other(_)), "{other}");
    }
    let pedal = read(body("Entity/Product/Pedal/", ""));
    assert_eq!(pedal.value_of("Price"), Some(Value::Int32(5)));
    assert_eq!(round_trip(&pedal), pedal, "an unknown kind is written back unchanged");
}

/// A guitar that is read and written back as a product stays a guitar.
#[test]
fn reading_as_a_base_keeps_the_kind() {
    let product: Product = decode_entity(&encode(&guitar()).unwrap().body).unwrap();
    assert_eq!(product.extra.get::<i32>("NoOfStrings").unwrap(), Some(6));
    assert_eq!(decode_entity::<Guitar>(&encode(&product).unwrap().body).unwrap(), guitar());
}

/// Reading by key ignored the kind, and a change turned a cat into a dog.
#[test]
fn another_kind_is_rejected() {
    #[derive(Debug, Entity)]
    #[table(kind = "Animal.Dog")]
    struct Dog {
        #[table(partition_key)]
        owner: String,
        #[table(row_key)]
        name: String,
    }
    let read = |kind: &str| {
        let body = format!(r#"{{"PartitionKey":"Ann","RowKey":"Tom"{kind}}}"#);
        decode_entity::<Dog>(body.as_bytes())
    };
    let error = read(r#","_Type":"Entity/Animal/Cat/""#).unwrap_err().to_string();
    assert!(error.contains("Entity/Animal/Cat/") && error.contains("Entity/Animal/Dog/"), "{error}");
    assert!(read(r#","_Type":"Entity/Animal/""#).is_err(), "not every animal is a dog");
    assert_eq!(read(r#","_Type":"Entity/Animal/Dog/Poodle/""#).unwrap().name, "Tom");
    assert_eq!(read("").unwrap().owner, "Ann"); // written by a client without kinds
}

#[derive(Clone, Debug, Entity)]
#[table(partition_key = Self::channel, row_key = |blog| crate::keys::newest_first(blog.posted), strict, eq_by_key)]
struct Blog {
    posted: DateTime,
    channel_name: String,
}

impl Blog {
    fn channel(&self) -> String {
        self.channel_name.to_lowercase()
    }
}

/// Computed keys, equality by keys (LA-05), and a type that rejects unknown properties (MB-13).
#[test]
fn computed_keys_strictness_and_equality() {
    let posted = DateTime::parse("2008-10-01T10:00:00Z").unwrap();
    let blog = Blog { posted, channel_name: "Football".into() };
    assert_eq!((&*blog.partition_key(), &*blog.row_key()), ("football", "2521794455999999999"));
    let shouted = Blog { channel_name: "FOOTBALL".into(), ..blog.clone() };
    assert_eq!(blog, shouted);
    assert_eq!(HashSet::from([blog.clone(), shouted]).len(), 1);
    assert_eq!(round_trip(&blog).channel_name, "Football");
    let mut body = String::from_utf8(encode(&blog).unwrap().body).unwrap();
    body.insert_str(1, r#""Odd":1,"#);
    assert!(decode_entity::<Blog>(body.as_bytes()).unwrap_err().to_string().contains("Odd"));
    assert_eq!(Blog::names().unwrap(), ["posted", "channel_name"]);
    assert_eq!(Guitar::names(), None, "flexible properties can have any name");
}

/// LA-32: one row, decoded as any type that fits.
#[test]
fn any_type_reads_any_table() {
    let page = format!(r#"{{"value":[{}]}}"#, String::from_utf8(encode(&guitar()).unwrap().body).unwrap());
    assert_eq!(decode_page::<Dynamic>(page.as_bytes()).unwrap()[0].get::<i32>("Price").unwrap(), Some(5));
    assert_eq!(decode_page::<Product>(page.as_bytes()).unwrap()[0].price, 5);
    assert_eq!(decode_page::<Guitar>(page.as_bytes()).unwrap()[0].no_of_strings, 6);
}

/// Names that the derive uses do not clash with those of the user's types.
#[test]
fn user_types_may_have_names_that_the_derive_uses() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Builder {
        floors: u8,
    }
    #[derive(Clone, Debug, PartialEq, Entity)]
    struct House {
        #[table(partition_key)]
        street: String,
        #[table(row_key)]
        number: u32,
        #[table(json)]
        builder: Builder,
        r#type: i32,
    }
    let house = House { street: "Damrak".into(), number: 1, builder: Builder { floors: 3 }, r#type: 4 };
    assert_eq!(round_trip(&house), house);
    assert_eq!(House::r#type().eq(4).to_string(), "type eq 4");
}

/// FW-04: the items of a list are ordered by their numbers, regardless of the order of the properties.
#[test]
fn lists_are_read_by_their_numbers() {
    let mut entity = everything();
    entity.tags = (0..12).map(|n| n.to_string()).collect();
    let body = String::from_utf8(encode(&entity).unwrap().body).unwrap();
    // Like the response of a service that sorts by name, with similar names.
    let first = r#""Tags_0":"0","Tags_1":"1""#;
    assert!(body.contains(first) && body.ends_with('}'), "{body}");
    let shuffled = body.replacen(first, r#""Tags_1":"1","Tags_01":"x","Tags_+2":"x","Tags_":"x""#, 1);
    let shuffled = format!(r#"{},"Tags_0":"0"}}"#, &shuffled[..shuffled.len() - 1]);
    let read: Everything = decode_entity(shuffled.as_bytes()).unwrap();
    assert_eq!(read.tags, entity.tags);
    assert!(
        ["Tags_01", "Tags_+2", "Tags_"].iter().all(|name| read.extra.contains(name)),
        "they are not items"
    );
}

/// FW-04: a missing item would shift the items after it.
#[test]
fn lists_with_gaps_are_rejected() {
    #[derive(Debug, PartialEq, Entity)]
    struct Holes {
        #[table(partition_key)]
        partition: String,
        #[table(row_key)]
        row: String,
        #[table(indexed)]
        items: Vec<Option<i32>>,
    }
    let list = |items| Holes { partition: "p".into(), row: "r".into(), items };
    assert_eq!(round_trip(&list(vec![Some(1), Some(2)])), list(vec![Some(1), Some(2)]));
    for holes in [vec![Some(1), None, Some(3)], vec![None], vec![Some(1), None]] {
        assert!(encode(&list(holes)).unwrap_err().message().contains("items_"));
    }
}
