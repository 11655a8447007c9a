//! `lazuli conformance`: golden transcripts against any server.

use std::process::ExitCode;

use clap::Args;
use lazuli_conformance::{Options, Target, run};
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

/// Check a server against the golden wire transcripts.
///
/// Each transcript creates tables of its own with random names and deletes them. The exit code is 1 if an answer differs.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli conformance --connection-string 'UseDevelopmentStorage=true'
  lazuli conformance --endpoint http://127.0.0.1:10002/devstoreaccount1 --filter etags
  lazuli conformance --endpoint http://127.0.0.1:10002/shop --account shop --key BASE64KEY --json")]
pub struct Conformance {
    /// Endpoint of the Table service, with the account in path style
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
        let target = match (&self.connection_string, &self.endpoint) {
            (Some(text), _) => Target::from_connection_string(text),
            (None, endpoint) => {
                Target::new(endpoint.as_deref().unwrap_or_default(), &self.account, &self.key)
            }
        };
        let mut options = Options::new(target.map_err(|error| error.to_string())?);
        options.filter = self.filter;
        options.exclude_groups = self.skip;
        let report = run(&options);
        if self.json {
            println!("{}", report.json());
        } else {
            print!("{}", report.table());
        }
        Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
