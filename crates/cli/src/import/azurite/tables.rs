//! Tables and entities of Azurite.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_client::{BulkOptions, Dynamic, SignedIdentifier, Table, TableService, WriteMode};
use lazuli_engine::Engine;
use lazuli_model::Service;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use tokio::sync::mpsc;

use super::loki::{self, Members};
use super::{FromAzurite, Report, account_of, policies, text};
use crate::edm;
use crate::fault::Fault;
use crate::import::dated::{Dated, Wanted};
use crate::progress::Progress;

/// Number of entities written together.
const WINDOW_ENTITIES_MAX: usize = 2000;
/// Number of documents that are read ahead.
const AHEAD_MAX: usize = 256;

/// Imports the tables of an account. `is_done` says whether all of it worked.
pub fn import(
    from: &FromAzurite<'_>,
    account: &str,
    report: &mut Report,
    is_done: &mut bool,
) -> Result<ExitCode, String> {
    let wanted = Arc::new(Wanted::default());
    let keep = from.keep_timestamp;
    let over = |engine: Arc<dyn Engine>| match keep {
        true => Arc::new(Dated::new(engine, Arc::clone(&wanted))) as Arc<dyn Engine>,
        false => engine,
    };
    let work = async |service: &TableService| {
        let wanted = keep.then_some(&*wanted);
        all(from, account, service, wanted, report).await?;
        *is_done = true;
        Ok(ExitCode::SUCCESS)
    };
    from.target.run_over(over, work)
}

async fn all(
    from: &FromAzurite<'_>,
    account: &str,
    service: &TableService,
    wanted: Option<&Wanted>,
    report: &mut Report,
) -> Result<(), Fault> {
    let file = from.database(Service::Table);
    let mut tables: Vec<(String, Vec<SignedIdentifier>)> = Vec::new();
    loki::each(
        &file,
        |name| name == "$TABLES_COLLECTION$",
        |_, document: Json| {
            if account_of(&document) == Some(account) {
                tables.push((text(&document, "table").to_owned(), policies(document.get("tableAcl"))));
            }
            Ok(())
        },
    )?;
    let mut writer =
        Writer { wanted, report, progress: Progress::start("tables", "entities", from.quiet), bytes: 0 };
    let mut created = HashMap::new();
    for (name, policies) in tables {
        match create(service, &name, &policies).await {
            Ok(table) => {
                writer.report.tables += 1;
                created.insert(format!("{account}${name}"), table);
            }
            Err(fault) => writer.report.problem(&format!("table {name}"), fault)?,
        }
    }
    let documents = stream(file, created.keys().cloned().collect());
    writer.entities(&created, documents).await?;
    let _ = writer.progress.finish();
    Ok(())
}

async fn create(service: &TableService, name: &str, policies: &[SignedIdentifier]) -> Result<Table, Fault> {
    let table = service.table(name)?;
    table.create_if_missing().await?;
    if !policies.is_empty() {
        table.set_policies(policies).await?;
    }
    Ok(table)
}

/// A document, and the name of its collection.
type Named = (String, Document);

/// Reads collections on a separate thread, no further ahead than the channel allows.
fn stream(file: PathBuf, collections: HashSet<String>) -> mpsc::Receiver<Result<Named, Fault>> {
    let (sender, receiver) = mpsc::channel(AHEAD_MAX);
    std::thread::spawn(move || {
        let gone = || Fault::Message("nobody reads the documents".into());
        let read = loki::each(
            &file,
            |name| collections.contains(name),
            |name, document| sender.blocking_send(Ok((name.to_owned(), document))).map_err(|_| gone()),
        );
        if let Err(fault) = read {
            // If the receiver is gone, the error is not needed.
            let _ = sender.blocking_send(Err(fault));
        }
    });
    receiver
}

struct Writer<'a> {
    wanted: Option<&'a Wanted>,
    report: &'a mut Report,
    progress: Progress,
    bytes: u64,
}

impl Writer<'_> {
    async fn entities(
        &mut self,
        tables: &HashMap<String, Table>,
        mut documents: mpsc::Receiver<Result<Named, Fault>>,
    ) -> Result<(), Fault> {
        // The entities of one table that are waiting to be written.
        let (mut window, mut current) = (Vec::new(), None);
        while let Some(document) = documents.recv().await {
            let (collection, document) = document?;
            let Some(table) = tables.get(&collection) else { continue };
            if let Some(previous) = current.replace(table).filter(|previous| previous.name() != table.name())
            {
                self.write(previous, std::mem::take(&mut window)).await?;
            }
            match document.entity() {
                Ok((entity, bytes)) => {
                    self.bytes += bytes;
                    window.push((entity, self.report.entities + window.len() as u64));
                }
                Err(why) => self.report.problem(
                    &format!("table {}, entity ({}, {})", table.name(), document.partition, document.row),
                    Fault::Message(why),
                )?,
            }
            if window.len() >= WINDOW_ENTITIES_MAX {
                self.write(table, std::mem::take(&mut window)).await?;
            }
        }
        match current {
            Some(table) => self.write(table, window).await,
            None => Ok(()),
        }
    }

    async fn write(&mut self, table: &Table, window: Vec<(Dynamic, u64)>) -> Result<(), Fault> {
        if let Some(wanted) = self.wanted {
            wanted.set(&window).map_err(|(_, why)| Fault::Message(why.into()))?;
        }
        let count = window.len() as u64;
        let mut entities: Vec<Dynamic> = window.into_iter().map(|(entity, _)| entity).collect();
        entities.sort_by(|a, b| a.partition_key.cmp(&b.partition_key));
        let options = BulkOptions { mode: WriteMode::UpsertReplace, ..BulkOptions::default() };
        if let Err(stopped) = table.write_all(entities, options, |_| {}).await {
            let rejected = self.wanted.and_then(Wanted::rejected);
            let named = |(_, why)| Fault::Message(format!("table {}: {why}", table.name()));
            return Err(rejected.map_or(stopped.error.into(), named));
        }
        self.report.entities += count;
        self.progress.reach(self.report.entities, self.bytes, None);
        Ok(())
    }
}

/// The document of an entity. Its properties are JSON as in the protocol, in order.
#[derive(Default)]
struct Document {
    partition: String,
    row: String,
    properties: Members,
}

impl Document {
    /// The entity, and the length of its properties as JSON.
    fn entity(&self) -> Result<(Dynamic, u64), String> {
        let members = &self.properties.0;
        let kind_of = |name: &str| {
            let annotation = format!("{name}@odata.type");
            members.iter().find(|(member, _)| *member == annotation).and_then(|(_, kind)| kind.as_str())
        };
        let mut line = vec![b'{'];
        let mut push = |name: &str, value: &Json| {
            if line.len() > 1 {
                line.push(b',');
            }
            line.extend_from_slice(format!("{}:{value}", Json::from(name)).as_bytes());
        };
        for (name, value) in members {
            let is_large = value.as_i64().is_some_and(|number| i32::try_from(number).is_err());
            match (kind_of(name), value.as_str()) {
                _ if value.is_null() => {}
                // Azurite stores GUIDs as Base64 of their text.
                (Some("Edm.Guid"), Some(text)) => push(name, &guid(text).into()),
                (None, _) if is_large => {
                    push(&format!("{name}@odata.type"), &"Edm.Double".into());
                    push(name, value);
                }
                _ => push(name, value),
            }
        }
        line.push(b'}');
        Ok((edm::from_line(&line)?, line.len() as u64))
    }
}

fn guid(text: &str) -> String {
    let decoded = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.filter(|text| text.len() == 36).unwrap_or_else(|| text.to_owned())
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<F: Deserializer<'de>>(from: F) -> Result<Self, F::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Document;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an entity")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let mut document = Document::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "PartitionKey" => document.partition = map.next_value()?,
                        "RowKey" => document.row = map.next_value()?,
                        "properties" => document.properties = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(document)
            }
        }
        from.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use lazuli_model::Value;

    use super::*;

    #[test]
    fn types_survive() {
        let text = r#"{"PartitionKey":"a","RowKey":"1","properties":{"PartitionKey":"a","RowKey":"1","Z":1,"Big@odata.type":"Edm.Int64","Big":"9007199254740993","Whole":2,"Whole@odata.type":"Edm.Double","Id":"MTIzNDU2NzgtMTIzNC0xMjM0LTEyMzQtMTIzNDU2Nzg5MGFi","Id@odata.type":"Edm.Guid","Plain":"12345678-1234-1234-1234-1234567890ab","Plain@odata.type":"Edm.Guid","Long":4294967296,"Nothing":null,"Timestamp":"2026-11-17T10:36:13.4202671Z","Timestamp@odata.type":"Edm.DateTime"},"eTag":"x","meta":{}}"#;
        let document: Document = serde_json::from_str(text).unwrap();
        let (entity, _) = document.entity().unwrap();
        let value = |name: &str| entity.props.value(name).cloned();
        assert_eq!((entity.partition_key.as_str(), entity.row_key.as_str()), ("a", "1"));
        assert_eq!(value("Z"), Some(Value::Int32(1)));
        assert_eq!(value("Big"), Some(Value::Int64(9_007_199_254_740_993)));
        assert_eq!(value("Whole"), Some(Value::Double(2.0)));
        assert_eq!(value("Long"), Some(Value::Double(4_294_967_296.0)));
        assert!(matches!(value("Id"), Some(Value::Guid(_))));
        assert_eq!(value("Id"), value("Plain"));
        assert_eq!(value("Nothing"), None);
        assert_eq!(entity.timestamp.unwrap().iso().as_str(), "2026-11-17T10:36:13.4202671Z");
    }
}
