//! Entities as text: values with their types, an entity as a line of JSON, and assignments on the command line.
//!
//! Values round-trip exactly, with their types, signs of zero and empty strings.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_client::Dynamic;
use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::{DateTime, EdmType, Failure, Value};
use lazuli_protocol::table::json;

/// The type with this name: `Edm.Int32`, or `Int32` for short.
pub fn kind(name: &str) -> Option<EdmType> {
    EdmType::ALL
        .into_iter()
        .find(|kind| kind.name() == name || kind.name().strip_prefix("Edm.") == Some(name))
}

/// A value as text, without its type.
pub fn text(value: &Value) -> String {
    match value {
        Value::Binary(bytes) => STANDARD.encode(bytes),
        Value::Boolean(value) => value.to_string(),
        Value::DateTime(time) => time.iso().as_str().to_owned(),
        Value::Double(number) if number.is_nan() => "NaN".into(),
        Value::Double(number) if number.is_infinite() => {
            if *number > 0.0 { "Infinity" } else { "-Infinity" }.into()
        }
        Value::Double(number) => format!("{number:?}"),
        Value::Guid(guid) => String::from_utf8_lossy(&guid.text()).into_owned(),
        Value::Int32(number) => number.to_string(),
        Value::Int64(number) => number.to_string(),
        Value::String(text) => text.clone(),
    }
}

/// Parses a value of this type.
pub fn parse(kind: EdmType, text: &str) -> Result<Value, String> {
    json::read::parse(kind, text).ok_or_else(|| format!("'{text}' is not an {}", kind.name()))
}

/// An entity as a line of JSON, without the line end. Types that JSON does not show are annotated, as in the protocol.
pub fn to_line(entity: &Dynamic) -> Vec<u8> {
    let mut out = json::send::Entity::new(&entity.partition_key, &entity.row_key);
    if let Some(time) = entity.timestamp {
        out.property(TIMESTAMP, lazuli_model::ValueRef::DateTime(time));
    }
    for (name, value) in &entity.props {
        out.property(name, value.as_ref());
    }
    out.finish()
}

/// Reads an entity from a line of JSON, with its Timestamp if it has one.
pub fn from_line(line: &[u8]) -> Result<Dynamic, String> {
    let said = |failure: Failure| failure.message.into_owned();
    let draft = json::read::entity(line)
        .map_err(|_| "not an entity in JSON: expected an object whose members are strings, numbers, true or false, with types such as \"Age@odata.type\":\"Edm.Int64\"".to_owned())?;
    let partition = draft.partition.ok_or("there is no PartitionKey")?;
    let row = draft.row.ok_or("there is no RowKey")?;
    let mut entity = Dynamic::new(partition, row);
    if draft.properties.iter().any(|(_, value)| value.as_ref().kind() == EdmType::Double) {
        check_integers(line)?;
    }
    for (name, value) in draft.properties {
        let value = value.as_ref().to_value();
        lazuli_model::table::entity::check_property(&name, &value).map_err(said)?;
        set(&mut entity, &name, value)?;
    }
    entity.timestamp = timestamp_of(line);
    Ok(entity)
}

/// Rejects bare integers that do not fit Edm.Int32. The protocol would read them as Edm.Double, which can lose digits.
fn check_integers(line: &[u8]) -> Result<(), String> {
    let (mut name, mut rest) = (&line[..0], line);
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first == b'"' {
            let end = end_of_text(behind);
            (name, rest) = (&behind[..end], behind.get(end + 1..).unwrap_or_default());
        } else if first == b'-' || first.is_ascii_digit() {
            let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
            let length = behind.iter().take_while(|byte| is_part(byte)).count();
            let number = &line[line.len() - behind.len() - 1..][..=length];
            rest = &behind[length..];
            let number = String::from_utf8_lossy(number);
            let is_integer = number.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
            let annotation = [b"\"", name, b"@odata.type\""].concat();
            let has_type = || line.windows(annotation.len()).any(|part| part == annotation);
            if is_integer && number.parse::<i32>().is_err() && !has_type() {
                let name = String::from_utf8_lossy(name);
                return Err(format!(
                    "{name}: {number} does not fit Edm.Int32; write \"{name}@odata.type\":\"Edm.Int64\",\"{name}\":\"{number}\", or the \
                     same with Edm.Double"
                ));
            }
        }
    }
    Ok(())
}

/// The length of a JSON string that starts here, after its opening quote.
fn end_of_text(bytes: &[u8]) -> usize {
    let mut is_escaped = false;
    let is_end = |&byte: &u8| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    };
    bytes.iter().position(is_end).unwrap_or(bytes.len())
}

/// Reads the Timestamp, which the protocol's decoder ignores, as the service does.
fn timestamp_of(line: &[u8]) -> Option<DateTime> {
    if !line.windows(TIMESTAMP.len()).any(|part| part == TIMESTAMP.as_bytes()) {
        return None;
    }
    let object: serde_json::Value = serde_json::from_slice(line).ok()?;
    object.get(TIMESTAMP).and_then(serde_json::Value::as_str).and_then(DateTime::parse)
}

/// Rejects a line whose Timestamp cannot be parsed.
pub fn check_timestamp(line: &[u8]) -> Result<(), String> {
    let object: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    match object.get(TIMESTAMP) {
        Some(found) if !found.is_null() => {
            Err(format!("Timestamp: {found} is not a time such as \"2020-02-29T12:00:00.1234567Z\""))
        }
        _ => Ok(()),
    }
}

/// Sets a property, a key or the Timestamp.
pub fn set(entity: &mut Dynamic, name: &str, value: Value) -> Result<(), String> {
    match (name, value) {
        (PARTITION_KEY, Value::String(text)) => entity.partition_key = text,
        (ROW_KEY, Value::String(text)) => entity.row_key = text,
        (TIMESTAMP, Value::DateTime(time)) => entity.timestamp = Some(time),
        (PARTITION_KEY | ROW_KEY, _) => return Err(format!("{name} must be an Edm.String")),
        (name, value) => {
            entity.set(name.to_owned(), value).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

/// Reads an assignment: `Name=text`, `Age:Int64=5`, or `Age:=5` whose value is JSON.
pub fn assignment(text: &str) -> Result<(String, Value), String> {
    let (left, right) = text
        .split_once('=')
        .ok_or_else(|| format!("'{text}' is not a property; expected Name=text, Age:Int64=5 or Age:=5"))?;
    let (name, value) = match left.split_once(':') {
        None => (left, Value::String(right.to_owned())),
        Some((name, "")) => (name, json_value(right)?),
        Some((name, given)) => {
            let known = || EdmType::ALL.map(|kind| kind.name().trim_start_matches("Edm.")).join(", ");
            let kind = kind(given).ok_or_else(|| format!("unknown type '{given}'; expected {}", known()))?;
            (name, parse(kind, right)?)
        }
    };
    Ok((name.to_owned(), value))
}

fn json_value(text: &str) -> Result<Value, String> {
    let wrong = || format!("'{text}' is not a JSON string, number, true or false");
    match serde_json::from_str(text).map_err(|_| wrong())? {
        serde_json::Value::Bool(value) => Ok(Value::Boolean(value)),
        serde_json::Value::String(text) => Ok(Value::String(text)),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Ok(i32::try_from(whole).map_or(Value::Int64(whole), Value::Int32)),
            None => number.as_f64().map(Value::Double).ok_or_else(wrong),
        },
        _ => Err(wrong()),
    }
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values of all types, often extreme ones.
    pub fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "\\PC{0,12}".boxed(),
            "[,\"\\r\\n\\t';:@\\\\ \u{0}\u{feff}\u{2028}😀a]{0,8}".boxed(),
            Just(String::new()).boxed(),
            Just("NULL".to_owned()).boxed(),
        ];
        let least = DateTime::STORABLE_MIN.ticks();
        let ticks = prop_oneof![Just(least), Just(DateTime::MAX.ticks()), least..=DateTime::MAX.ticks()];
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..20).prop_map(Value::Binary),
            any::<bool>().prop_map(Value::Boolean),
            ticks.prop_map(|ticks| Value::DateTime(DateTime::from_ticks(ticks).unwrap())),
            any::<f64>().prop_map(Value::Double),
            prop_oneof![
                Just(f64::NAN),
                Just(f64::INFINITY),
                Just(f64::NEG_INFINITY),
                Just(-0.0),
                Just(f64::MIN_POSITIVE),
                Just(5e-324),
                Just(f64::MAX),
                Just(1e21),
                Just(5.0)
            ]
            .prop_map(Value::Double),
            any::<u128>().prop_map(|bits| Value::Guid(uuid_text(bits).parse().unwrap())),
            prop_oneof![Just(i32::MIN), Just(i32::MAX), any::<i32>()].prop_map(Value::Int32),
            prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>()].prop_map(Value::Int64),
            text.prop_map(Value::String),
        ]
    }

    fn uuid_text(bits: u128) -> String {
        let hex = format!("{bits:032x}");
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// Entities with some of a few properties, of changing types.
    pub fn any_entity() -> impl Strategy<Value = Dynamic> {
        let key = || "[^/\\\\#?\u{0}-\u{1f}\u{7f}-\u{9f}]{0,6}";
        let name = prop_oneof![Just("A"), Just("B"), Just("_c"), Just("Ünï"), Just("D1")];
        (key(), key(), proptest::collection::vec((name, any_value()), 0..6)).prop_map(
            |(partition, row, list)| {
                let mut entity = Dynamic::new(partition, row);
                for (name, value) in list {
                    entity.set(name, value).unwrap();
                }
                entity
            },
        )
    }

    /// Are the values equal, bit by bit? A NaN equals no other value.
    pub fn same(a: &Dynamic, b: &Dynamic) -> bool {
        let list = |entity: &Dynamic| -> Vec<(String, String)> {
            let mut list: Vec<_> =
                entity.props.iter().map(|(name, value)| (name.to_owned(), format!("{value:?}"))).collect();
            list.sort();
            list
        };
        (&a.partition_key, &a.row_key, list(a)) == (&b.partition_key, &b.row_key, list(b))
    }

    proptest! {
        #[test]
        fn values_are_read_back(value in any_value()) {
            let again = parse(value.kind(), &text(&value)).unwrap();
            prop_assert_eq!(format!("{:?}", again), format!("{:?}", value));
        }

        #[test]
        fn lines_are_read_back(entity in any_entity(), time in proptest::option::of(0..=DateTime::MAX.ticks())) {
            let mut entity = entity;
            entity.timestamp = time.and_then(DateTime::from_ticks);
            let line = to_line(&entity);
            prop_assert!(!line.contains(&b'\n'), "one line");
            let again = from_line(&line).unwrap();
            prop_assert!(same(&entity, &again), "{:?} {:?}", entity, again);
            prop_assert_eq!(again.timestamp, entity.timestamp);
        }
    }

    #[test]
    fn assignments() {
        for (text, name, value) in [
            ("Name=Ada", "Name", Value::String("Ada".into())),
            ("Name=", "Name", Value::String(String::new())),
            ("Formula=a=b:c", "Formula", Value::String("a=b:c".into())),
            ("Age:Int64=5", "Age", Value::Int64(5)),
            ("Age:Edm.Int32=-5", "Age", Value::Int32(-5)),
            ("Age:=5", "Age", Value::Int32(5)),
            ("Age:=5000000000", "Age", Value::Int64(5_000_000_000)),
            ("Size:=0.5", "Size", Value::Double(0.5)),
            ("Good:=true", "Good", Value::Boolean(true)),
            ("Text:=\"a\\nb\"", "Text", Value::String("a\nb".into())),
            ("Bytes:Binary=AQI=", "Bytes", Value::Binary(vec![1, 2])),
            ("Number:Double=NaN", "Number", Value::Double(f64::NAN)),
        ] {
            let (found, given) = assignment(text).unwrap();
            assert_eq!((found.as_str(), format!("{given:?}")), (name, format!("{value:?}")), "{text}");
        }
        for bad in
            ["", "Name", "Age:Int=5", "Age:Int32=x", "Age:=x", "Age:=null", "Age:=[1]", "When:DateTime=now"]
        {
            assert!(assignment(bad).is_err(), "{bad}");
        }
    }

    /// A bare integer is an Int32 or an error: as a Double it could lose digits.
    #[test]
    fn integers_that_are_too_large() {
        for (members, expected) in [
            (r#""N":2147483647"#, Ok(Value::Int32(i32::MAX))),
            (r#""N":2147483648"#, Err("N: 2147483648 does not fit Edm.Int32")),
            (r#""N":-9223372036854775809"#, Err("N: -9223372036854775809 does not fit")),
            (r#""N":99999999999999999999999"#, Err("N: 99999999999999999999999 does not fit")),
            (r#""A":"\\\" 5000000000","D":0.5,"N":1"#, Ok(Value::Int32(1))),
            (r#""A":"\\","N":5000000000"#, Err("N: 5000000000")),
            (r#""N":5000000000,"N@odata.type":"Edm.Double""#, Ok(Value::Double(5e9))),
            (r#""N@odata.type":"Edm.Int64","N":5000000000"#, Ok(Value::Int64(5_000_000_000))),
            (r#""N@odata.type":"Edm.Int64","N":"5000000000""#, Ok(Value::Int64(5_000_000_000))),
            (r#""N":5e9"#, Ok(Value::Double(5e9))),
            (r#""N":-5000000000.0"#, Ok(Value::Double(-5e9))),
            (r#""N@odata.type":"Edm.Int32","N":2147483648"#, Err("not an entity")),
            (r#""N@odata.type":"Edm.Int64","N":"9223372036854775808""#, Err("not an entity")),
        ] {
            let line = format!(r#"{{"PartitionKey":"a","RowKey":"1",{members}}}"#);
            let found = from_line(line.as_bytes());
            match (found, expected) {
                (Ok(entity), Ok(value)) => assert_eq!(entity.props.value("N"), Some(&value), "{members}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{members}: {why}"),
                (found, _) => panic!("{members}: {found:?}"),
            }
        }
    }

    #[test]
    fn lines_that_are_none() {
        for bad in ["", "x", "[]", "{}", "{\"PartitionKey\":\"a\"}", "{\"PartitionKey\":\"a\",\"RowKey\":1}"]
        {
            assert!(from_line(bad.as_bytes()).is_err(), "{bad}");
        }
        let nested = r#"{"PartitionKey":"a","RowKey":"b","C":{}}"#;
        assert!(from_line(nested.as_bytes()).is_err());
    }
}
