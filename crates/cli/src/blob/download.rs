//! `lazuli blob download`: a blob to a file, to standard output, or many blobs to a directory.
//!
//! Content goes to a file in a hidden directory, in ranges that are fetched several at a time. A state file
//! says how much of it is complete, so a killed download resumes there if the blob has not changed. A file with
//! its final name is complete.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use lazuli_model::Service;
use serde_json::json;

use super::files::{below, md5, md5_of_file};
use super::list::{ListQuery, each_page, name};
use super::parts::{Parts, is_reserved};
use super::path::BlobPath;
use super::pool::{Tally, each};
use super::{WORKERS_MAX, report};
use crate::fault::{EXIT_CODES, Fault, usage};
use crate::state::{StateFile, number};
use crate::storage::{Session, Storage, StorageRequest};
use crate::target::Target;

/// Bytes of a range: the maximum for which servers send an MD5.
const RANGE_BYTES: u64 = 4 * 1024 * 1024;
/// Number of ranges between two saves of the state.
const SAVE_EVERY: u64 = 32;

/// Download a blob, or all blobs of a container or below a prefix
///
/// Verifies the MD5 of every range and of the whole blob if the server sends it. Skips files that already have the same
/// content and resumes large blobs, so an interrupted download can be run again. Until a file is complete, it is in the
/// directory .lazuli-parts at the destination.
#[derive(Args)]
#[command(after_help = format!("\
Examples:
  lazuli blob download files/report.pdf                 to report.pdf
  lazuli blob download files/report.pdf copy.pdf
  lazuli blob download files out --recursive            everything, below out
  lazuli blob download files/2026/ out --recursive      the blobs whose names start with 2026/
  lazuli blob download backups/data.tar - > data.tar     standard output

{EXIT_CODES}"))]
pub struct Download {
    /// Blob, or container and prefix
    #[arg(value_name = "CONTAINER/NAME", value_parser = BlobPath::parse)]
    source: BlobPath,

    /// File or directory, or - for standard output [default: the current directory]
    #[arg(default_value = ".")]
    destination: PathBuf,

    /// Download all blobs whose names start with NAME
    #[arg(short, long)]
    recursive: bool,

    /// Replace existing files whose content differs
    #[arg(long)]
    overwrite: bool,

    /// Snapshot to download, as printed by snapshot
    #[arg(long, value_name = "TIME", conflicts_with = "recursive")]
    snapshot: Option<String>,

    /// Number of connections
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=WORKERS_MAX))]
    connections: u8,

    /// Print errors only
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    target: Target,
}

/// A blob, as it was when the download started.
struct Found {
    length: u64,
    etag: String,
    md5: Option<String>,
}

/// Where a blob goes.
struct Place<'a> {
    file: &'a Path,
    /// The name of the file below the destination.
    name: &'a str,
    parts: &'a Parts,
}

impl Download {
    /// Runs the command.
    pub fn run(self) -> Result<ExitCode, String> {
        if self.source.name.is_empty() && !self.recursive {
            return usage("pass the name of a blob (CONTAINER/NAME), or --recursive to download all blobs");
        }
        self.target.storage(Service::Blob, |storage| {
            let to_output = self.destination.as_os_str() == "-";
            let tally = Tally::new("download", self.quiet || to_output);
            let done = self.transfer(storage, &tally);
            report("downloaded", tally.finish(), self.quiet || to_output);
            done.map(|()| ExitCode::SUCCESS)
        })
    }

    fn transfer(&self, storage: &Storage, tally: &Tally) -> Result<(), Fault> {
        if self.recursive {
            return self.many(storage, tally);
        }
        let mut session = storage.session();
        let found = self.find(&mut session, &self.source)?;
        if self.destination.as_os_str() == "-" {
            return self.print(&mut session, &found);
        }
        let file = if self.destination.is_dir() {
            below(&self.destination, self.source.file_name())?
        } else {
            self.destination.clone()
        };
        let directory = file.parent().unwrap_or(Path::new(""));
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let place = Place { file: &file, name: &name, parts: &Parts::of(directory) };
        self.blob(storage, &mut session, &self.source, &found, &place, tally)
    }

    /// Page by page: the blobs that fit one range in parallel, the others one after the other with their ranges in parallel.
    fn many(&self, storage: &Storage, tally: &Tally) -> Result<(), Fault> {
        std::fs::create_dir_all(&self.destination).map_err(|error| at(&self.destination, &error))?;
        let query = ListQuery { path: &self.source, delimiter: None, include: &[] };
        let parts = Parts::of(&self.destination);
        let (mut listing, mut session) = (storage.session(), storage.session());
        each_page(&mut listing, &query, |blobs| {
            let mut large = Vec::new();
            let mut small = Vec::new();
            for blob in blobs.iter().filter(|blob| blob.name == "Blob") {
                let path = self.source.sibling(name(blob)?);
                let length = blob.child("Properties").map_or("", |all| all.text_of("Content-Length"));
                let is_small = length.parse().is_ok_and(|length: u64| length <= RANGE_BYTES);
                if is_small { small.push(path) } else { large.push(path) }
            }
            each(storage, self.connections.into(), small.iter(), |session, path| {
                let found = self.find(session, path)?;
                let file = &below(&self.destination, &path.name)?;
                let place = Place { file, name: &path.name, parts: &parts };
                self.blob(storage, session, path, &found, &place, tally)
            })?;
            for path in &large {
                let found = self.find(&mut session, path)?;
                let file = &below(&self.destination, &path.name)?;
                let place = Place { file, name: &path.name, parts: &parts };
                self.blob(storage, &mut session, path, &found, &place, tally)?;
            }
            Ok(())
        })
    }

    fn find(&self, session: &mut Session<'_>, path: &BlobPath) -> Result<Found, Fault> {
        let head = session.send(&self.at("HEAD", path))?;
        let text = |name: &str| head.header(name).map(str::to_owned);
        let length = text("Content-Length").and_then(|text| text.parse().ok());
        let length = length.ok_or_else(|| Fault::Message("the response has no Content-Length".into()))?;
        Ok(Found { length, etag: text("ETag").unwrap_or_default(), md5: text("Content-MD5") })
    }

    fn at(&self, method: &'static str, path: &BlobPath) -> StorageRequest {
        StorageRequest::new(method, &path.names()).maybe("snapshot", self.snapshot.as_ref())
    }

    fn blob(
        &self,
        storage: &Storage,
        session: &mut Session<'_>,
        path: &BlobPath,
        found: &Found,
        place: &Place<'_>,
        tally: &Tally,
    ) -> Result<(), Fault> {
        let file = place.file;
        if file.iter().any(|name| name.to_str().is_some_and(is_reserved)) {
            let reason = "downloads keep incomplete files in directories of this name";
            return Err(format!("{path} cannot be {}: {reason}", file.display()).into());
        }
        if is_same(file, found)? {
            tally.add(0, 1, 0);
            return Ok(());
        }
        if file.exists() && !self.overwrite {
            return Err(format!(
                "{} exists with different content; pass --overwrite to replace it",
                file.display()
            )
            .into());
        }
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent).map_err(|error| at(parent, &error))?;
        }
        let part = place.parts.part(place.name);
        if found.length <= RANGE_BYTES {
            let content = if found.length == 0 { Vec::new() } else { self.range(session, path, found, 0)? };
            let written = place
                .parts
                .open(&part, File::options().create(true).truncate(true).write(true))
                .and_then(|mut file| file.write_all(&content));
            written.map_err(|error| at(&part, &error))?;
            tally.add(0, 0, found.length);
        } else {
            self.ranges(storage, path, found, (place.parts, &part), tally)?;
        }
        complete(&part, file, found)?;
        tally.add(1, 0, 0);
        Ok(())
    }

    /// Fetches the ranges that are missing.
    fn ranges(
        &self,
        storage: &Storage,
        path: &BlobPath,
        found: &Found,
        (parts, part): (&Parts, &Path),
        tally: &Tally,
    ) -> Result<(), Fault> {
        let purpose = json!({
            "download": path.to_string(), "from": self.target.identity_of(storage.endpoint())?,
            "snapshot": self.snapshot, "etag": found.etag, "bytes": found.length,
        });
        // The state of a blob that has changed is useless.
        let state_path = part.with_extension("state");
        let mut state = match StateFile::open(state_path.clone(), purpose.clone(), false) {
            Ok(state) => state,
            Err(_) => StateFile::open(state_path, purpose, true)?,
        };
        let mut done = number(state.content(), "ranges");
        let file = parts
            .open(part, File::options().create(true).write(true).truncate(false))
            .map_err(|error| at(part, &error))?;
        if file.metadata()?.len() != found.length {
            file.set_len(found.length).map_err(|error| at(part, &error))?;
            done = 0;
        }
        let count = found.length.div_ceil(RANGE_BYTES);
        while done < count {
            let end = (done + SAVE_EVERY).min(count);
            each(storage, self.connections.into(), done..end, |session, index| {
                let content = self.range(session, path, found, index)?;
                file.write_all_at(&content, index * RANGE_BYTES).map_err(|error| at(part, &error))?;
                tally.add(0, 0, content.len() as u64);
                Ok(())
            })?;
            file.sync_data()?;
            done = end;
            state.save(json!({ "ranges": done }))?;
        }
        state.remove()
    }

    /// One range, verified.
    fn range(
        &self,
        session: &mut Session<'_>,
        path: &BlobPath,
        found: &Found,
        index: u64,
    ) -> Result<Vec<u8>, Fault> {
        let start = index * RANGE_BYTES;
        let length = RANGE_BYTES.min(found.length - start);
        let call = self.at("GET", path).header("x-ms-range", format!("bytes={start}-{}", start + length - 1));
        let call = call.header("x-ms-range-get-content-md5", "true").header("If-Match", &found.etag);
        let response = session.send(&call)?;
        if response.body.len() as u64 != length {
            return Err(format!("{path}: the server sent {} bytes of {length}", response.body.len()).into());
        }
        // For a whole blob, Content-MD5 is a property of the blob, which is checked at the end.
        let sum = response.header("Content-MD5").filter(|_| response.status == 206 && length < found.length);
        if sum.is_some_and(|sum| sum != md5(&response.body)) {
            return Err(format!("{path}: the MD5 of bytes {start} to {} is wrong", start + length).into());
        }
        Ok(response.body)
    }

    fn print(&self, session: &mut Session<'_>, found: &Found) -> Result<(), Fault> {
        let mut out = std::io::stdout().lock();
        for index in 0..found.length.div_ceil(RANGE_BYTES) {
            out.write_all(&self.range(session, &self.source, found, index)?)?;
        }
        Ok(out.flush()?)
    }
}

/// Verifies the content, and renames the file to its final name.
fn complete(part: &Path, file: &Path, found: &Found) -> Result<(), Fault> {
    if let Some(wanted) = &found.md5 {
        let sum = md5_of_file(part).map_err(|error| at(part, &error))?;
        if sum != *wanted {
            std::fs::remove_file(part).map_err(|error| at(part, &error))?;
            return Err(format!(
                "{}: the content has MD5 {sum}, but the blob's Content-MD5 is {wanted}",
                file.display()
            )
            .into());
        }
    }
    File::open(part).and_then(|open| open.sync_all()).map_err(|error| at(part, &error))?;
    std::fs::rename(part, file).map_err(|error| at(file, &error))
}

/// Does the file have the content of the blob? Unknown if the blob has no MD5.
fn is_same(file: &Path, found: &Found) -> Result<bool, Fault> {
    let length = std::fs::metadata(file).ok().filter(|data| data.is_file()).map(|data| data.len());
    match &found.md5 {
        Some(md5) if length == Some(found.length) => {
            Ok(md5_of_file(file).map_err(|error| at(file, &error))? == *md5)
        }
        _ => Ok(false),
    }
}

fn at(file: &Path, error: &std::io::Error) -> Fault {
    Fault::Message(format!("{}: {error}", file.display()))
}
