//! A batch request and its response without a server.

use lazuli_model::table::operation::{EntityChange, EntityWrite, Match, StoredEntity, Written};
use lazuli_model::table::{Operation, Outcome};
use lazuli_model::{DateTime, Failure, Guid, PackedRow, Properties};
use lazuli_protocol::http::head::Field;
use lazuli_protocol::http::response::{Context, Response};
use lazuli_protocol::http::url::Base;
use lazuli_protocol::table::batch;
use lazuli_protocol::table::batch::{Batch, BatchPlan};
use lazuli_protocol::table::media::{Format, MetadataLevel};
use lazuli_protocol::table::response_format::Prefer;
use lazuli_protocol::{Address, ApiVersion, Head};

/// The time of every commit.
pub const COMMITTED: &str = "2015-03-04T05:06:07.0809Z";
/// The outer boundary of responses.
pub const BATCH: &str = "batchresponse_00000000-0000-0000-0000-00000000000b";
/// The inner one.
pub const CHANGE_SET: &str = "changesetresponse_00000000-0000-0000-0000-00000000000c";

/// The outer request of a batch.
#[derive(Clone)]
pub struct Request {
    pub version: &'static str,
    pub fields: Vec<(String, String)>,
    pub host: &'static str,
    pub target: &'static str,
    pub body: Vec<u8>,
}

impl Request {
    /// In path style, with boundary `batch_1`.
    pub fn new(version: &'static str, body: impl AsRef<[u8]>) -> Self {
        Self {
            version,
            fields: vec![("Content-Type".into(), "multipart/mixed; boundary=batch_1".into())],
            host: "127.0.0.1:10002",
            target: "/dev/$batch",
            body: body.as_ref().to_vec(),
        }
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(given, _)| given != name);
        self.fields.push((name.into(), value.into()));
        self
    }

    pub fn in_host_style(self) -> Self {
        Self { host: "dev.table.core.windows.net", target: "/$batch", ..self }
    }

    pub fn decode(&self) -> Result<Batch, Failure> {
        let mut fields: Vec<Field<'_>> =
            self.fields.iter().map(|(name, value)| Field { name, value }).collect();
        fields.push(Field { name: "Host", value: self.host });
        let head = Head { method: "POST", target: self.target, fields: &fields };
        let address = Address::parse(&head, lazuli_model::Service::Table, |name| name == "dev").unwrap();
        batch::decode(&head, &address, version(self.version), &self.body)
    }

    /// The response where every operation succeeds that can be asked for, or that to the failure given.
    pub fn respond(&self, failure: Option<Failure>) -> Response {
        let context = self.context();
        let batch = match self.decode() {
            Ok(batch) => batch,
            Err(failure) => {
                let wanted =
                    lazuli_protocol::table::response_format::ResponseFormat::fallback(context.version);
                return lazuli_protocol::table::error::odata(&context, &wanted, &failure);
            }
        };
        let outcome = match (&batch.plan, failure) {
            (BatchPlan::Rejected(failure), _) => Err(failure.clone()),
            (BatchPlan::Run(_), Some(failure)) => Err(failure),
            (BatchPlan::Nothing, _) => Ok(Outcome::Batch(Vec::new())),
            (BatchPlan::Run(operation), None) => Ok(succeed(operation)),
        };
        batch::encode(&context, &batch, outcome.as_ref(), [guid(11), guid(12)]).unwrap()
    }

    fn context(&self) -> Context {
        let base = match self.target {
            "/$batch" => Base::new("https", self.host, None),
            _ => Base::new("http", self.host, Some("dev")),
        };
        Context {
            account: "dev".into(),
            base,
            now: DateTime::parse("2015-03-04T05:06:08.5Z").unwrap(),
            request_id: "11111111-2222-3333-4444-555555555555".into(),
            version: version(self.version),
        }
    }
}

pub fn version(text: &str) -> ApiVersion {
    ApiVersion::parse(text).unwrap()
}

fn guid(last: u8) -> Guid {
    let mut bytes = [0; 16];
    bytes[15] = last;
    Guid(bytes)
}

/// The outcome of an operation on entities that meet its conditions.
fn succeed(operation: &Operation) -> Outcome {
    let timestamp = DateTime::parse(COMMITTED).unwrap();
    let stored = |write: &EntityWrite, properties: &Properties| StoredEntity {
        partition: write.key.partition.as_str().into(),
        row: write.key.row.as_str().into(),
        timestamp,
        properties: PackedRow::pack(properties),
    };
    match operation {
        Operation::Batch { writes, .. } => Outcome::Batch(
            writes
                .iter()
                .map(|write| match &write.change {
                    EntityChange::Insert(properties) => Written::Inserted(stored(write, properties)),
                    EntityChange::Delete(_) => Written::Deleted,
                    _ => Written::Updated(timestamp),
                })
                .collect(),
        ),
        Operation::GetEntity { key, .. } => Outcome::Entity(StoredEntity {
            partition: key.partition.as_str().into(),
            row: key.row.as_str().into(),
            timestamp,
            properties: PackedRow::pack(&Properties::default()),
        }),
        Operation::QueryEntities { .. } => Outcome::Page(Default::default()),
        other => panic!("{} is no operation of a batch", other.kind().name()),
    }
}

/// A batch in words, one operation per line: its effect, and the format of its response.
pub fn show(request: &Request) -> String {
    let batch = match request.decode() {
        Ok(batch) => batch,
        Err(failure) => return format!("rejected as a whole: {failure}"),
    };
    let looks: Vec<_> = batch.parts.iter().map(show_part).collect();
    match &batch.plan {
        BatchPlan::Nothing => "nothing".into(),
        BatchPlan::Rejected(failure) => format!("rejected {:?}: {failure}", failure.index),
        BatchPlan::Run(Operation::Batch { table, writes }) => {
            let lines = writes.iter().zip(looks).map(|(write, look)| format!("{}{look}", show_write(write)));
            format!("{table}\n{}", lines.collect::<Vec<_>>().join("\n"))
        }
        BatchPlan::Run(Operation::GetEntity { table, key }) => {
            format!("{table}\nget {}|{}{}", key.partition, key.row, looks.concat())
        }
        BatchPlan::Run(other) => format!("{}{}", other.kind().name(), looks.concat()),
    }
}

fn show_write(write: &EntityWrite) -> String {
    let key = format!("{}|{}", write.key.partition, write.key.row);
    let (verb, properties, condition) = match &write.change {
        EntityChange::Insert(properties) => ("insert", Some(properties), None),
        EntityChange::Replace(properties, condition) => ("replace", Some(properties), Some(condition)),
        EntityChange::Merge(properties, condition) => ("merge", Some(properties), Some(condition)),
        EntityChange::InsertOrReplace(properties) => ("insert or replace", Some(properties), None),
        EntityChange::InsertOrMerge(properties) => ("insert or merge", Some(properties), None),
        EntityChange::Delete(condition) => ("delete", None, Some(condition)),
    };
    let condition = match condition {
        None => String::new(),
        Some(Match::Any) => " if any".into(),
        Some(Match::Version(time)) => format!(" if {time}"),
        Some(Match::Nothing) => " if never".into(),
    };
    let properties: Vec<_> = properties
        .iter()
        .flat_map(|properties| properties.iter())
        .map(|(name, value)| format!(" {name}={value:?}"))
        .collect();
    format!("{verb} {key}{condition}{}", properties.concat())
}

fn show_part(part: &batch::PartContext) -> String {
    let format = match part.wanted.format {
        Format::Atom => "atom",
        Format::Json(MetadataLevel::None) => "nometadata",
        Format::Json(MetadataLevel::Minimal) => "minimal",
        Format::Json(MetadataLevel::Full) => "full",
    };
    let prefer = match part.wanted.prefer {
        None => "",
        Some(Prefer::Content) => " content",
        Some(Prefer::NoContent) => " no-content",
    };
    let id = part.content_id.as_ref().map(|id| format!(" #{id}")).unwrap_or_default();
    format!(" -> {format}{prefer}{id}")
}

/// A change set of requests with CRLF line ends, one operation each.
pub fn change_set(operations: &[String]) -> String {
    let mut body = "--batch_1\nContent-Type: multipart/mixed; boundary=changeset_1\n\n".to_owned();
    for operation in operations {
        body.push_str("--changeset_1\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n");
        body.push_str(operation);
        body.push('\n');
    }
    body.push_str("--changeset_1--\n--batch_1--\n");
    body.replace('\n', "\r\n")
}

/// A lone operation.
pub fn lone(operation: &str) -> String {
    format!("--batch_1\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n{operation}\n--batch_1--\n")
        .replace('\n', "\r\n")
}

/// An insert of an entity with one property, JSON.
pub fn insert(table: &str, partition: &str, row: &str) -> String {
    format!(
        "POST /{table} HTTP/1.1\nContent-Type: application/json\nAccept: application/json\nPrefer: return-no-content\n\n{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\",\"A\":1}}"
    )
}

/// A delete whatever the version.
pub fn delete(table: &str, partition: &str, row: &str) -> String {
    format!("DELETE /{table}(PartitionKey='{partition}',RowKey='{row}') HTTP/1.1\nIf-Match: *\n")
}

pub fn text(response: &Response) -> String {
    String::from_utf8(response.body.clone()).unwrap()
}
