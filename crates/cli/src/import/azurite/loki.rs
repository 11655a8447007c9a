//! Reads Azurite's metadata: a LokiJS database, which is one JSON object with collections of documents.
//!
//! Documents are handed out one by one while the file is read; the rest is not kept in memory.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::marker::PhantomData;
use std::path::Path;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

use crate::fault::Fault;

/// An object that preserves the order of its members.
#[derive(Default)]
pub struct Members(pub Vec<(String, Json)>);

/// Calls `take` for each document of the collections that `is_wanted` selects, with the name of the collection.
pub fn each<D: DeserializeOwned>(
    path: &Path,
    is_wanted: impl Fn(&str) -> bool,
    take: impl FnMut(&str, D) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let named = |error: &dyn fmt::Display| Fault::Message(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| named(&error))?;
    let mut reading = Reading { is_wanted, take, fault: None, documents: PhantomData };
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(file));
    let read = Database(&mut reading).deserialize(&mut json);
    match (reading.fault, read) {
        (Some(fault), _) => Err(fault),
        (None, Err(error)) => Err(named(&format!("not a database of Azurite: {error}"))),
        (None, Ok(())) => Ok(()),
    }
}

struct Reading<W, T, D> {
    is_wanted: W,
    take: T,
    /// The reason why reading stopped, if it is not an error in the file.
    fault: Option<Fault>,
    documents: PhantomData<D>,
}

/// The whole file.
struct Database<'a, W, T, D>(&'a mut Reading<W, T, D>);
/// The list of collections.
struct Collections<'a, W, T, D>(&'a mut Reading<W, T, D>);
/// One collection.
struct Collection<'a, W, T, D>(&'a mut Reading<W, T, D>);
/// The documents of a collection of this name.
struct Documents<'a, W, T, D>(&'a mut Reading<W, T, D>, &'a str);

/// Implements `DeserializeSeed` for a visitor.
macro_rules! seeds {
    ($name:ident, $method:ident) => {
        impl<'de, W, T, D> DeserializeSeed<'de> for $name<'_, W, T, D>
        where
            W: Fn(&str) -> bool,
            T: FnMut(&str, D) -> Result<(), Fault>,
            D: DeserializeOwned,
        {
            type Value = ();

            fn deserialize<F: Deserializer<'de>>(self, from: F) -> Result<(), F::Error> {
                from.$method(self)
            }
        }
    };
}
seeds!(Database, deserialize_map);
seeds!(Collections, deserialize_seq);
seeds!(Collection, deserialize_map);
seeds!(Documents, deserialize_seq);

impl<'de, W, T, D> Visitor<'de> for Database<'_, W, T, D>
where
    W: Fn(&str) -> bool,
    T: FnMut(&str, D) -> Result<(), Fault>,
    D: DeserializeOwned,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a LokiJS database")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_collections = false;
        while let Some(key) = map.next_key::<String>()? {
            if key == "collections" {
                has_collections = true;
                map.next_value_seed(Collections(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if has_collections { Ok(()) } else { Err(A::Error::custom("it has no collections")) }
    }
}

impl<'de, W, T, D> Visitor<'de> for Collections<'_, W, T, D>
where
    W: Fn(&str) -> bool,
    T: FnMut(&str, D) -> Result<(), Fault>,
    D: DeserializeOwned,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of collections")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Collection(self.0))?.is_some() {}
        Ok(())
    }
}

impl<'de, W, T, D> Visitor<'de> for Collection<'_, W, T, D>
where
    W: Fn(&str) -> bool,
    T: FnMut(&str, D) -> Result<(), Fault>,
    D: DeserializeOwned,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a collection")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut name = None;
        while let Some(key) = map.next_key::<String>()? {
            match (key.as_str(), &name) {
                ("name", _) => name = Some(map.next_value::<String>()?),
                ("data", Some(name)) if (self.0.is_wanted)(name) => {
                    map.next_value_seed(Documents(self.0, name))?;
                }
                ("data", None) => return Err(A::Error::custom("a collection has no name")),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl<'de, W, T, D> Visitor<'de> for Documents<'_, W, T, D>
where
    W: Fn(&str) -> bool,
    T: FnMut(&str, D) -> Result<(), Fault>,
    D: DeserializeOwned,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of documents")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(document) = list.next_element::<D>()? {
            if let Err(fault) = (self.0.take)(self.1, document) {
                self.0.fault = Some(fault);
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<F: Deserializer<'de>>(from: F) -> Result<Self, F::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, wanted: &str) -> Result<Vec<String>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db.json");
        std::fs::write(&path, text).unwrap();
        let mut found = Vec::new();
        let done = each(
            &path,
            |name| name == wanted,
            |name, document: Json| {
                if document == "stop" {
                    return Err(Fault::Message("enough".into()));
                }
                found.push(format!("{name}={document}"));
                Ok(())
            },
        );
        done.map(|()| found).map_err(|fault| fault.to_string())
    }

    #[test]
    fn documents_of_the_wanted_collections_are_handed_out() {
        let text = r#"{"filename":"x","collections":[{"name":"a","data":[1,2],"idIndex":null},{"name":"b","data":[3]}],"v":1.5}"#;
        assert_eq!(read(text, "a").unwrap(), ["a=1", "a=2"]);
        assert_eq!(read(text, "b").unwrap(), ["b=3"]);
        assert!(read(text, "c").unwrap().is_empty());
    }

    #[test]
    fn errors_name_the_file_or_are_those_of_the_caller() {
        assert_eq!(read(r#"{"collections":[{"name":"a","data":["stop"]}]}"#, "a").unwrap_err(), "enough");
        for bad in
            ["", "[]", "{}", r#"{"collections":[{"data":[]}]}"#, r#"{"collections":[{"name":"a","data":[1"#]
        {
            assert!(read(bad, "a").unwrap_err().contains("db.json: not a database of Azurite"), "{bad}");
        }
    }

    #[test]
    fn members_keep_their_order() {
        let members: Members = serde_json::from_str(r#"{"b":1,"a":"x"}"#).unwrap();
        let names: Vec<&str> = members.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
    }
}
