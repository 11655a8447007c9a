//! `lazuli blob url`: the URL of a blob, with a shared access signature on demand.

use std::process::ExitCode;

use clap::Args;
use lazuli_model::Service;
use lazuli_model::policy::Permissions;
use lazuli_protocol::auth::sas::{Presented, Token};

use super::path::BlobPath;
use crate::fault::{EXIT_CODES, Fault};
use crate::sas::moment;
use crate::storage::{Storage, escape_path};
use crate::target::Target;

/// The protocol version whose rules URLs are signed by.
const SIGNED_VERSION: &str = "2021-12-02";

/// Print the URL of a blob or container, signed on demand
///
/// Without --permissions, the URL works only if the container is public. If the connection string has a shared
/// access signature, the URL has the same one.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli blob url files/report.pdf
  lazuli blob url files/report.pdf --permissions r --expires 1h     a link to share

{EXIT_CODES}"))]
pub struct Url {
    /// Blob, or container
    #[arg(value_name = "CONTAINER[/NAME]", value_parser = BlobPath::parse)]
    path: BlobPath,

    /// Sign the URL, and allow this: r read, w write, c create, d delete, a add, l list, and others of the protocol
    #[arg(short, long, value_name = "LETTERS")]
    permissions: Option<String>,

    /// When the signature ends: a time (2030-01-01T00:00:00Z) or a time from now (30m, 12h, 7d)
    #[arg(long, value_name = "TIME", default_value = "1h", requires = "permissions")]
    expires: String,

    #[command(flatten)]
    target: Target,
}

impl Url {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        self.target.storage(Service::Blob, |storage| {
            let BlobPath { container, name } = &self.path;
            let mut url = format!("{}/{container}", storage.endpoint());
            if !name.is_empty() {
                url.push('/');
                url.push_str(&escape_path(name));
            }
            let signature = match &self.permissions {
                Some(letters) => Some(self.sign(storage, letters)?),
                None => storage.signature().map(str::to_owned),
            };
            match signature {
                Some(token) => say!("{url}?{token}"),
                None => say!("{url}"),
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    fn sign(&self, storage: &Storage, letters: &str) -> Result<String, Fault> {
        let known = Service::Blob.permission_letters();
        if Permissions::parse(letters, known).is_none() {
            return Err(format!(
                "invalid permissions '{letters}'; expected letters from \"{known}\", in that order"
            )
            .into());
        }
        let Some((account, key)) = storage.key() else {
            return Err("signing needs the account's key: use a connection string with an AccountKey"
                .to_owned()
                .into());
        };
        let BlobPath { container, name } = &self.path;
        let (kind, path) = match name.as_str() {
            "" => ("c", container.clone()),
            name => ("b", format!("{container}/{name}")),
        };
        let mut token = Token {
            sv: SIGNED_VERSION.into(),
            sr: kind.into(),
            sp: letters.to_owned(),
            se: moment(&self.expires, lazuli_server::clock::now())?,
            ..Token::default()
        };
        if token.sign(Presented::resource(account, &path), key) {
            return Ok(token.to_query());
        }
        Err("these permissions or times are not valid for a blob".to_owned().into())
    }
}
