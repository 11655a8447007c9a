//! `lazuli conformance`: golden transcripts against any server.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use lazuli_conformance::{ExtraRoots, Options, Target, run};
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

/// Check a server against the golden wire transcripts.
///
/// Each transcript creates tables of its own with random names and deletes them. The exit code is 1 if an answer differs.
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
    /// Endpoint of the Table service, http or https, with the account in its host or its path
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

    /// Connect there, whatever host the endpoint names; certificates must still be for that host
    #[arg(long, value_name = "HOST:PORT")]
    connect: Option<String>,

    /// Root certificates (PEM) to trust besides those of the machine, or of SSL_CERT_FILE if that is set
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Only transcripts whose name contains this
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,

    /// Leave out a group of transcripts; may be repeated
    #[arg(long, value_name = "GROUP")]
    skip: Vec<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Conformance {
    /// Runs the transcripts; the exit code is 1 on a difference.
    pub fn run(self) -> Result<ExitCode, String> {
        let mut options = Options::new(self.target()?);
        options.filter = self.filter;
        options.exclude_groups = self.skip;
        let report = run(&options);
        if report.outcomes.is_empty() {
            return Err(
                "no transcript is of that name; groups are the folders of the names that a full run prints"
                    .into(),
            );
        }
        if self.json {
            say!("{}", report.json());
        } else {
            say!("{}", report.table().trim_end());
        }
        Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn target(&self) -> Result<Target, String> {
        let target = match (&self.connection_string, &self.endpoint) {
            (Some(text), _) => Target::from_connection_string(text),
            (None, endpoint) => {
                Target::new(endpoint.as_deref().unwrap_or_default(), &self.account, &self.key)
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
