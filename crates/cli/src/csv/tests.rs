//! CSV: written files are read back, and files of other programs are read.

use proptest::prelude::*;

use super::*;
use crate::edm::tests::{any_entity, same};

fn written(entities: &[Dynamic]) -> Vec<u8> {
    let mut columns = Columns::default();
    entities.iter().for_each(|entity| columns.take_in(entity).unwrap());
    let mut out = Vec::new();
    write_header(&mut out, &columns).unwrap();
    entities.iter().for_each(|entity| write_entity(&mut out, &columns, entity).unwrap());
    out
}

fn read(text: &[u8]) -> Result<Vec<Dynamic>, String> {
    let mut reader = CsvReader::new(text)?;
    let mut list = Vec::new();
    while let Some(entity) = reader.next_entity()? {
        list.push(entity);
    }
    assert_eq!(reader.offset, text.len() as u64, "all of it was read");
    Ok(list)
}

proptest! {
    #[test]
    fn tables_are_read_back(entities in proptest::collection::vec(any_entity(), 0..8)) {
        let text = written(&entities);
        let again = read(&text).unwrap();
        prop_assert_eq!(again.len(), entities.len());
        for (a, b) in entities.iter().zip(&again) {
            prop_assert!(same(a, b), "{:?} {:?} {}", a, b, String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn any_bytes_are_read_or_rejected(text in proptest::collection::vec(prop_oneof![
        Just(b'"'), Just(b','), Just(b'\n'), Just(b'\r'), Just(b'a'), any::<u8>()], 0..60)) {
        let mut file = b"PartitionKey,RowKey,A:Edm.Int32\n".to_vec();
        file.extend(text);
        if let Ok(mut reader) = CsvReader::new(&file[..]) {
            while let Ok(Some(_)) = reader.next_entity() {}
        }
    }
}

#[test]
fn no_value_and_an_empty_text_differ() {
    let text = "PartitionKey,RowKey,A:Edm.String,B:Edm.Binary\r\np,1,,\r\np,2,\"\",\"\"\r\n";
    let list = read(text.as_bytes()).unwrap();
    assert_eq!((list[0].props.len(), list[1].props.len()), (0, 2));
    assert_eq!(written(&list), text.as_bytes());
}

#[test]
fn a_property_of_two_types_has_two_columns() {
    let one = Dynamic::new("p", "1").with("A", 1).unwrap();
    let two = Dynamic::new("p", "2").with("A", "x, \"y\"\n").unwrap();
    let text = written(&[one, two]);
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "PartitionKey,RowKey,A:Edm.Int32,A:Edm.String\r\np,1,1,\r\np,2,,\"x, \"\"y\"\"\n\"\r\n"
    );
}

/// Untyped columns, `@type` columns, a byte order mark, bare line feeds, keys in any column, no end of line at the end.
#[test]
fn files_of_others() {
    let text = "\u{feff}RowKey,Age,Age@type,PartitionKey,Name,Name@type\n1,36,Edm.Int32,p,Ada,Edm.String\n\n2,,,p,Alan,";
    let list = read(text.as_bytes()).unwrap();
    assert_eq!(list.len(), 2);
    assert_eq!(list[0].get::<i32>("Age").unwrap(), Some(36));
    assert_eq!(list[1].get::<i32>("Age").unwrap(), None);
    assert_eq!(list[1].get::<String>("Name").unwrap().as_deref(), Some("Alan"));
    assert_eq!((list[1].partition_key.as_str(), list[1].row_key.as_str()), ("p", "2"));
}

#[test]
fn mistakes_are_reported() {
    for (text, why) in [
        ("", "empty"),
        ("A,B\n", "no column PartitionKey"),
        ("PartitionKey\n", "no column RowKey"),
        ("PartitionKey,RowKey,A:Edm.Decimal\n", "not a type"),
        ("PartitionKey,RowKey\na\n", "1 fields, but 2 columns"),
        ("PartitionKey,RowKey,A:Edm.Int32\na,b,c\n", "A: 'c' is not an Edm.Int32"),
        ("PartitionKey,RowKey\na,\"b\n", "inside quotes"),
        ("PartitionKey,RowKey\na,\"b\"c\n", "after a closing quote"),
    ] {
        let found = read(text.as_bytes()).unwrap_err();
        assert!(found.contains(why), "{text:?}: {found}");
    }
}
