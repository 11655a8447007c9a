//! `lazuli blob append`: adds to an append blob.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use lazuli_model::Service;

use super::files::{content_type, md5};
use super::path::BlobPath;
use super::upload::PIECE_BYTES;
use crate::fault::{EXIT_CODES, Fault};
use crate::storage::{Session, StorageRequest};
use crate::target::Target;

/// Add a file or standard input to an append blob
///
/// Creates the blob if it does not exist. Several clients can append at the same time: every request of at most 4 MiB is
/// added as a whole. A request without a response is not sent again, since it may have been applied.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli blob append today.log files/app.log
  lazuli blob append - files/app.log < today.log
  lazuli blob append today.log files/app.log --seal       nobody can append after this

{EXIT_CODES}"))]
pub struct Append {
    /// File, or - for standard input
    source: PathBuf,

    /// Append blob
    #[arg(value_name = "CONTAINER/NAME", value_parser = BlobPath::parse_blob)]
    path: BlobPath,

    /// Fail if the blob does not exist
    #[arg(long)]
    no_create: bool,

    /// Seal the blob afterwards
    #[arg(long)]
    seal: bool,

    /// Id of the blob's lease
    #[arg(long, value_name = "GUID")]
    lease_id: Option<String>,

    #[command(flatten)]
    target: Target,
}

impl Append {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        self.target.storage(Service::Blob, |storage| {
            let session = &mut storage.session();
            let is_input = self.source.as_os_str() == "-";
            let mut input: Box<dyn Read> = match is_input {
                true => Box::new(std::io::stdin().lock()),
                false => Box::new(File::open(&self.source).map_err(|error| self.at(&error))?),
            };
            let mut is_there = false;
            loop {
                let mut piece = Vec::new();
                input.by_ref().take(PIECE_BYTES).read_to_end(&mut piece).map_err(|error| self.at(&error))?;
                if piece.is_empty() {
                    break;
                }
                self.add(session, piece)?;
                is_there = true;
            }
            if !is_there && !self.no_create {
                self.create(session)?;
            }
            if self.seal {
                session.send(&self.call().with("comp", "seal"))?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    fn add(&self, session: &mut Session<'_>, piece: Vec<u8>) -> Result<(), Fault> {
        let call = self.call().with("comp", "appendblock").header("Content-MD5", md5(&piece)).body(piece);
        match session.send(&call) {
            Err(Fault::Rejected(error)) if error.code == "BlobNotFound" && !self.no_create => {
                self.create(session)?;
                session.send(&call).map(drop)
            }
            done => done.map(drop),
        }
    }

    /// Creates the blob, unless another client has created it in the meantime.
    fn create(&self, session: &mut Session<'_>) -> Result<(), Fault> {
        let content_type = content_type(Path::new(self.path.file_name()));
        let call = StorageRequest::new("PUT", &self.path.names()).header("x-ms-blob-type", "AppendBlob");
        let call = call.header("x-ms-blob-content-type", content_type).header("If-None-Match", "*");
        session.send_unless(&call, "BlobAlreadyExists").map(drop)
    }

    fn call(&self) -> StorageRequest {
        StorageRequest::new("PUT", &self.path.names()).maybe_header("x-ms-lease-id", self.lease_id.as_ref())
    }

    fn at(&self, error: &std::io::Error) -> Fault {
        Fault::Message(format!("{}: {error}", self.source.display()))
    }
}
