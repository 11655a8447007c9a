//! Tables, queues and containers that exist when the server starts, and their contents.
//!
//! Requests go through the whole pipeline, without a socket, before the first client can connect. The next
//! start repeats all of it: entities and blobs are replaced by identical ones, and messages are added only to a
//! queue that was created by this start.

use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use lazuli_client::{BulkOptions, Dynamic, WriteMode};
use lazuli_engine::Engine;
use lazuli_model::Service;
use lazuli_probe::{Request, Signer};
use lazuli_protocol::Head;
use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::http::head::Field;
use lazuli_protocol::xml::write::{document, leaf, nest};
use lazuli_server::accounts::ConfiguredAccount;
use lazuli_server::http::{Peer, ReadyBody};
use lazuli_server::{Config, Directory, Endpoint, State};

use super::Serve;
use crate::export::FileFormat;
use crate::fault::Fault;
use crate::import::source::ImportSource;
use crate::storage::StorageRequest;

/// Maximum size of a file that becomes a blob.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
const VERSION: &str = "2021-12-02";

/// Something to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A table.
    Table(String),
    /// A queue.
    Queue(String),
    /// A container, and whether everyone may read it.
    Container(String, bool),
}

impl Item {
    /// Reads `table:NAME`, `queue:NAME`, `container:NAME` or `container:NAME:public`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.trim().split(':');
        let item = match (parts.next(), parts.next(), parts.next()) {
            (Some("table"), Some(name), None) => Some(Item::Table(name.to_owned())),
            (Some("queue"), Some(name), None) => Some(Item::Queue(name.to_owned())),
            (Some("container"), Some(name), None) => Some(Item::Container(name.to_owned(), false)),
            (Some("container"), Some(name), Some("public")) => Some(Item::Container(name.to_owned(), true)),
            _ => None,
        };
        let item = item.filter(|_| parts.next().is_none());
        item.ok_or_else(|| "expected table:NAME, queue:NAME, container:NAME or container:NAME:public".into())
    }
}

impl Serve {
    /// Creates and fills the resources that the flags name.
    pub(super) async fn seed(
        &self,
        engine: &Arc<dyn Engine>,
        config: &Config,
        given: &[ConfiguredAccount],
    ) -> Result<(), String> {
        if self.create.is_empty() && self.seed.is_none() {
            return Ok(());
        }
        let account =
            given.first().ok_or("--create and --seed need an account: LAZULI_ACCOUNTS or --dev-account")?;
        let seeder = Seeder::new(engine, config, account)?;
        for item in &self.create {
            seeder.create(item).await?;
        }
        match &self.seed {
            Some(directory) => seeder.fill(directory).await.map_err(|why| format!("--seed: {why}")),
            None => Ok(()),
        }
    }
}

struct Seeder {
    state: Arc<State>,
    engine: Arc<dyn Engine>,
    account: String,
    key: AccountKey,
}

impl Seeder {
    fn new(engine: &Arc<dyn Engine>, config: &Config, account: &ConfiguredAccount) -> Result<Self, String> {
        // Use the account of the flags, even if the store has an account of the same name with other keys.
        let given = ConfiguredAccount { is_fallback: false, ..account.clone() };
        let key = given.keys.first().cloned().ok_or("the account has no key")?;
        // Rate limits and allowed hosts apply only to clients.
        let config = Config { limits: config.limits, ..Config::new((Ipv4Addr::LOCALHOST, 0).into()) };
        let state =
            State::over(engine.clone(), Directory::new(vec![given]), config).map_err(|e| e.to_string())?;
        let (engine, account) = (engine.clone(), account.name.clone());
        Ok(Self { state: Arc::new(state), engine, account, key })
    }

    /// Creates a resource; returns whether it is new.
    async fn create(&self, item: &Item) -> Result<bool, String> {
        let (service, name, call) = match item {
            Item::Table(name) => {
                let body = serde_json::json!({ "TableName": name }).to_string();
                let call =
                    StorageRequest::new("POST", &["Tables"]).header("Content-Type", "application/json");
                (
                    Service::Table,
                    name,
                    call.header("Accept", "application/json;odata=nometadata").body(body.into()),
                )
            }
            Item::Queue(name) => (Service::Queue, name, StorageRequest::new("PUT", &[name])),
            Item::Container(name, is_public) => {
                let call = StorageRequest::new("PUT", &[name]).with("restype", "container");
                let access = is_public.then_some("blob");
                (Service::Blob, name, call.maybe_header("x-ms-blob-public-access", access))
            }
        };
        match self.send(service, call).await {
            Ok(status) => Ok(status == 201),
            Err((409, _)) => Ok(false),
            Err((_, why)) => Err(format!("{} {name} cannot be created: {why}", service.label())),
        }
    }

    async fn send(&self, service: Service, call: StorageRequest) -> Result<u16, (u16, String)> {
        let mut request = Request::new(call.method, format!("/{}{}", self.account, call.target()));
        request = request.with("Host", "127.0.0.1").with("x-ms-version", VERSION);
        for (name, value) in call.headers {
            request = request.with(name, value);
        }
        request.body = call.body;
        let signer = Signer::new(service, self.account.clone(), self.key.clone());
        signer.sign(&mut request, lazuli_server::clock::now());
        let fields: Vec<Field<'_>> =
            request.headers.iter().map(|(name, value)| Field { name, value }).collect();
        let head = Head { method: &request.method, target: &request.target, fields: &fields };
        let peer = Peer { address: (Ipv4Addr::LOCALHOST, 0).into(), is_tls: false };
        let mut body = ReadyBody(Bytes::from(request.body.clone()));
        let endpoint = Endpoint::new(Arc::clone(&self.state), service);
        let response = endpoint.respond(&head, peer, &mut body).await.response;
        if response.status < 400 {
            return Ok(response.status);
        }
        let code = response.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-ms-error-code"));
        let code = code.map_or_else(String::new, |(_, value)| value.to_string());
        Err((response.status, format!("{code} (status {})", response.status)))
    }

    /// Reads `tables/NAME.jsonl`, `tables/NAME.csv`, `queues/NAME.jsonl`, `queues/NAME.txt` and `containers/NAME/…`.
    async fn fill(&self, directory: &Path) -> Result<(), String> {
        if !directory.is_dir() {
            return Err(format!("{}: there is no such directory", directory.display()));
        }
        for file in entries(&directory.join("tables"))? {
            self.table(&file).await?;
        }
        for file in entries(&directory.join("queues"))? {
            self.queue(&file).await?;
        }
        for container in entries(&directory.join("containers"))? {
            self.container(&container).await?;
        }
        Ok(())
    }

    async fn table(&self, file: &Path) -> Result<(), String> {
        let format = match end(file) {
            "jsonl" => FileFormat::Jsonl,
            "csv" => FileFormat::Csv,
            _ => return Err(format!("{}: expected a name that ends in .jsonl or .csv", file.display())),
        };
        let failed = |error: lazuli_client::Error| format!("{}: {error}", file.display());
        let service = crate::target::direct(self.engine.clone(), &self.account).map_err(failed)?;
        let table = service.table(&stem(file)?).map_err(failed)?;
        table.create_if_missing().await.map_err(failed)?;
        let said = |fault: Fault| match fault {
            Fault::Message(text) => text,
            other => format!("{}: {other:?}", file.display()),
        };
        let mut source = ImportSource::open(file, format, false).map_err(said)?;
        let options = BulkOptions { mode: WriteMode::UpsertReplace, ..BulkOptions::default() };
        loop {
            let window = source.window().map_err(said)?;
            if window.is_empty() {
                return Ok(());
            }
            let mut entities: Vec<Dynamic> = window.into_iter().map(|(entity, _)| entity).collect();
            entities.sort_by(|a, b| a.partition_key.cmp(&b.partition_key));
            table.write_all(entities, options, |_| {}).await.map_err(|stopped| failed(stopped.error))?;
        }
    }

    async fn queue(&self, file: &Path) -> Result<(), String> {
        let name = stem(file)?;
        if !self.create(&Item::Queue(name.clone())).await? {
            return Ok(());
        }
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let open = std::fs::File::open(file).map_err(|error| failed(&error))?;
        for line in BufReader::new(open).lines() {
            let line = line.map_err(|error| failed(&error))?;
            let text = match end(file) {
                "jsonl" => crate::message::text_of_line(&line).map_err(|error| failed(&error))?,
                _ => line,
            };
            let body = document(|out| nest(out, "QueueMessage", |out| leaf(out, "MessageText", &text)));
            let call = StorageRequest::new("POST", &[&name, "messages"])
                .header("Content-Type", "application/xml")
                .body(body);
            self.send(Service::Queue, call).await.map_err(|(_, why)| failed(&why))?;
        }
        Ok(())
    }

    async fn container(&self, directory: &Path) -> Result<(), String> {
        let container = name_of(directory)?;
        self.create(&Item::Container(container.clone(), false)).await?;
        let mut open = vec![(directory.to_owned(), String::new())];
        while let Some((directory, prefix)) = open.pop() {
            for path in entries(&directory)? {
                let name = format!("{prefix}{}", name_of(&path)?);
                if path.is_dir() {
                    open.push((path, format!("{name}/")));
                } else {
                    self.blob(&container, &name, &path).await?;
                }
            }
        }
        Ok(())
    }

    async fn blob(&self, container: &str, name: &str, file: &Path) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let length = std::fs::metadata(file).map_err(|error| failed(&error))?.len();
        if length > FILE_BYTES_MAX {
            return Err(failed(&format!(
                "the file has more than {FILE_BYTES_MAX} bytes; use lazuli blob upload"
            )));
        }
        let content = std::fs::read(file).map_err(|error| failed(&error))?;
        let call = StorageRequest::new("PUT", &[container, name]).header("x-ms-blob-type", "BlockBlob");
        let call = call.header("x-ms-blob-content-type", crate::blob::content_type(file)).body(content);
        self.send(Service::Blob, call).await.map(drop).map_err(|(_, why)| failed(&why))
    }
}

/// The entries of a directory in the order of their names; none if there is no such directory. Hidden files are
/// omitted.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let paths: Result<Vec<PathBuf>, _> =
        std::fs::read_dir(directory).map_err(failed)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(failed)?;
    paths.retain(|path| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.')));
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> Result<String, String> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| format!("{}: the name is not UTF-8", path.display()))
}

fn stem(path: &Path) -> Result<String, String> {
    let name = path.file_stem().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| format!("{}: the name is not UTF-8", path.display()))
}

fn end(path: &Path) -> &str {
    path.extension().and_then(|end| end.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_to_create() {
        assert_eq!(Item::parse("table:People"), Ok(Item::Table("People".into())));
        assert_eq!(Item::parse(" queue:jobs"), Ok(Item::Queue("jobs".into())));
        assert_eq!(Item::parse("container:files"), Ok(Item::Container("files".into(), false)));
        assert_eq!(Item::parse("container:files:public"), Ok(Item::Container("files".into(), true)));
        for bad in [
            "",
            "People",
            "table",
            "queue:a:public",
            "container:a:private",
            "container:a:public:x",
            "share:x",
        ] {
            assert!(Item::parse(bad).is_err(), "{bad}");
        }
    }
}
