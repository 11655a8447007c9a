//! `lazuli conformance`: runs golden transcripts against any server.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use lazuli_conformance::{ExtraRoots, Options, Target, run};
use lazuli_model::Service;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

use crate::fault::Fault;
use crate::storage::{Storage, StorageRequest};

/// Check a server against the golden wire transcripts.
///
/// Each transcript creates tables, queues or containers with random names and deletes them. The properties of the service are
/// changed, and restored at the end. The exit code is 1 if a response differs.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli conformance --connection-string 'UseDevelopmentStorage=true'
  lazuli conformance --endpoint http://127.0.0.1:10002/devstoreaccount1 --filter etags
  lazuli conformance --endpoint http://127.0.0.1:10002/shop --account shop --key BASE64KEY \\
      --filter etags --json
  lazuli conformance --endpoint https://shop.table.example.org --account shop --key BASE64KEY \\
      --connect 127.0.0.1:8443 --ca-file front.pem")]
pub struct Conformance {
    /// Service to check
    #[arg(long, value_name = "NAME", value_parser = service, default_value = "table")]
    service: Service,

    /// Endpoint of the service, http or https, with the account in its host or its path
    #[arg(long, value_name = "URL", required_unless_present = "connection_string")]
    endpoint: Option<String>,

    /// Account to sign with
    #[arg(long, value_name = "NAME", default_value = DEVELOPMENT_ACCOUNT)]
    account: String,

    /// Its key
    #[arg(long, value_name = "BASE64", default_value = DEVELOPMENT_KEY, hide_default_value = true)]
    key: String,

    /// Connection string in place of endpoint, account and key
    #[arg(long, value_name = "STRING", conflicts_with = "endpoint")]
    connection_string: Option<String>,

    /// Connect to this address instead of the endpoint's host; certificates must still be valid for that host
    #[arg(long, value_name = "HOST:PORT")]
    connect: Option<String>,

    /// Root certificates (PEM) to trust besides those of the machine, or of SSL_CERT_FILE if that is set
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Run only transcripts whose name contains this
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,

    /// Skip a group of transcripts; may be repeated
    #[arg(long, value_name = "GROUP")]
    skip: Vec<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn service(name: &str) -> Result<Service, String> {
    let found = Service::ALL.into_iter().find(|service| service.label() == name);
    found.ok_or_else(|| "expected table, queue or blob".to_owned())
}

impl Conformance {
    /// Runs the transcripts; the exit code is 1 on a difference.
    pub fn run(self) -> Result<ExitCode, String> {
        let storage = self.storage()?;
        let properties = Properties::save(&storage);
        let mut options = Options::new(self.target()?);
        options.filter = self.filter;
        options.exclude_groups = self.skip;
        let report = run(&options);
        properties.restore(&storage);
        if report.outcomes.is_empty() {
            return Err("no transcript matches; a full run prints all names, which include the groups".into());
        }
        if self.json {
            say!("{}", report.json());
        } else {
            say!("{}", report.table().trim_end());
        }
        Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The endpoint for the properties of the service.
    fn storage(&self) -> Result<Storage, String> {
        let text = match (&self.connection_string, &self.endpoint) {
            (Some(text), _) => text.clone(),
            (None, endpoint) => format!(
                "AccountName={};AccountKey={};{}Endpoint={}",
                self.account,
                self.key,
                self.service.title(),
                endpoint.as_deref().unwrap_or_default()
            ),
        };
        let storage = Storage::connect(self.service, &text, self.ca_file.as_deref())?;
        Ok(match &self.connect {
            Some(address) => storage.at_address(address.clone()),
            None => storage,
        })
    }

    fn target(&self) -> Result<Target, String> {
        let target = match (&self.connection_string, &self.endpoint) {
            (Some(text), _) => Target::from_connection_string(self.service, text),
            (None, endpoint) => {
                let endpoint = endpoint.as_deref().unwrap_or_default();
                Target::new(endpoint, &self.account, &self.key)
                    .map(|target| target.with_service(self.service))
            }
        };
        let mut target = target.map_err(|error| error.to_string())?;
        target.connect.clone_from(&self.connect);
        if let Some(file) = &self.ca_file {
            let roots = std::fs::read(file).and_then(|text| ExtraRoots::from_pem(&text));
            target.extra_roots = roots.map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(target)
    }
}

/// The service properties from before the run, to restore them: some transcripts change them.
struct Properties(Option<Vec<u8>>);

impl Properties {
    /// Reads the properties. If the server returns none, nothing is restored after the run.
    fn save(storage: &Storage) -> Self {
        let found = storage.session().send(&call("GET"));
        Self(found.ok().map(|response| response.body).filter(|body| !body.is_empty()))
    }

    fn restore(self, storage: &Storage) {
        let Some(body) = self.0 else { return };
        let restored =
            storage.session().send(&call("PUT").header("Content-Type", "application/xml").body(body));
        if let Err(Fault::Rejected(error)) = &restored {
            tell!("lazuli: failed to restore the properties of the service: {error}");
        } else if restored.is_err() {
            tell!("lazuli: failed to restore the properties of the service: no response");
        }
    }
}

fn call(method: &'static str) -> StorageRequest {
    StorageRequest::new(method, &[""]).with("restype", "service").with("comp", "properties")
}
