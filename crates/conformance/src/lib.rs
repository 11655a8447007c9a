//! Golden wire transcripts, and the runner that checks any server against them.
//!
//! A transcript is a text file of exchanges: requests, and the expected responses. `transcripts/README.md`
//! describes the format. The files are embedded, so that one binary can compare any endpoint with them.
//!
//! Invariants:
//! - This crate depends on the wire protocol only, not on the internals of our server.
//! - A transcript that cannot be run counts as a difference, never as a pass.

mod compare;
mod expect;
mod forms;
mod http;
mod json;
mod report;
mod request;
mod resource;
mod runner;
mod script;
mod system;
mod target;
mod template;
mod transcript;
mod values;

pub use compare::{Difference, DifferenceKind};
pub use http::{TranscriptRequest, TranscriptResponse, Transport};
pub use lazuli_probe::blocking::ExtraRoots;
pub use report::{ConformanceReport, Counts, TranscriptOutcome, TranscriptVerdict};
pub use runner::{Options, run, run_on};
pub use target::{Target, TargetError};
pub use transcript::{Exchange, Transcript, TranscriptError};

/// The embedded transcripts: `service/group/name` and text, in order of name.
pub static TRANSCRIPTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/transcripts.rs"));
