//! One column of a comparison: a server, its data, and its workload.

use std::path::Path;

use lazuli_model::Service;

use crate::load::Sample;
use crate::process::{Process, Server};
use crate::session::Session;
use crate::{Options, Workload, blob, load, queue, table};

/// A build that is no slower than another one, within the noise between rounds.
const SAME_RATE: f64 = 0.97;

/// The goal for a ratio to our server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Our rate is at least this multiple of theirs.
    Rate(f64),
    /// Their CPU time per operation is at least this multiple of ours.
    Cpu(f64),
    /// 99 % of our requests take less than this many milliseconds.
    P99(u64),
}

/// A contestant, and how it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContestantPlan {
    /// Its name in reports.
    pub label: &'static str,
    /// The server.
    pub server: Server,
    /// A number that distinguishes the contestants of a workload: the number of queues or messages.
    pub variant: u64,
    /// The goals of our server compared with this one.
    pub goals: [Option<Goal>; 2],
}

impl ContestantPlan {
    /// Our server.
    pub fn ours(variant: u64) -> Self {
        Self { label: "lazuli", server: Server::Lazuli, variant, goals: [None; 2] }
    }

    /// Our server with other data or other clients, for comparison.
    pub fn beside(label: &'static str, variant: u64) -> Self {
        Self { label, ..Self::ours(variant) }
    }

    /// Like [`Self::beside`], with a goal.
    pub fn also_ours(label: &'static str, variant: u64, goal: Goal) -> Self {
        Self { goals: [Some(goal), None], ..Self::beside(label, variant) }
    }

    /// With a second goal.
    pub fn and(self, goal: Goal) -> Self {
        Self { goals: [self.goals[0], Some(goal)], ..self }
    }

    /// Another build of our server with the same workload: it should not be faster.
    pub fn other(self) -> Self {
        Self {
            label: "other build",
            server: Server::Other,
            goals: [Some(Goal::Rate(SAME_RATE)), None],
            ..self
        }
    }

    /// Azurite doing the same.
    pub fn azurite(variant: u64, goal: Option<Goal>) -> Self {
        Self { label: "azurite", server: Server::Azurite, variant, goals: [goal, None] }
    }

    /// The bare server, which responds to GET with a body of this size and appends every other body.
    pub fn bare(body_bytes: usize, goal: f64) -> Self {
        let goals = [Some(Goal::Rate(goal)), None];
        Self { label: "bare", server: Server::Bare { body_bytes }, variant: 0, goals }
    }

    /// Plain files of this size, each written with its MD5 and one sync, without a server.
    pub fn files(label: &'static str, bytes: usize, goal: f64) -> Self {
        let goals = [Some(Goal::Rate(goal)), None];
        Self { label, server: Server::Files { bytes }, variant: 0, goals }
    }

    /// nginx, serving a file of this size.
    pub fn nginx(bytes: u64, goal: f64) -> Self {
        let goals = [Some(Goal::Rate(goal)), None];
        Self { label: "nginx", server: Server::Nginx { bytes }, variant: 0, goals }
    }
}

/// The work of a contestant, with the state that its sessions share.
#[derive(Clone)]
pub enum ServiceJob {
    /// On tables.
    Table(table::Job),
    /// On queues.
    Queue(queue::Job),
    /// On blobs.
    Blob(blob::Job),
}

/// The outcome of one step of a session.
pub enum Step {
    /// This many operations were done.
    Done(u64),
    /// There is nothing left to do: the slice ends.
    Exhausted,
}

/// A contestant that is ready to be measured.
pub struct Contestant {
    /// The contestant.
    pub plan: ContestantPlan,
    job: ServiceJob,
    process: Process,
    service: Service,
}

impl Contestant {
    /// Starts the server and loads the data that the workload needs.
    pub async fn start(
        plan: ContestantPlan,
        workload: Workload,
        options: &Options,
        data: &Path,
    ) -> Result<Self, String> {
        let process = Process::start(plan.server, options, data).await?;
        let job = match workload {
            Workload::Table(work) => ServiceJob::Table(table::Job::new(work, plan.variant, options)),
            Workload::Queue(work) => ServiceJob::Queue(queue::Job::new(work, plan.variant, options)),
            Workload::Blob(work) => ServiceJob::Blob(blob::Job::new(work, plan.variant, options)),
        };
        if plan.server.speaks_storage() {
            match &job {
                ServiceJob::Table(job) => job.prepare(&process).await?,
                ServiceJob::Queue(job) => job.prepare(&process).await?,
                ServiceJob::Blob(job) => job.prepare(&process).await?,
            }
        }
        Ok(Self { plan, job, process, service: workload.service() })
    }

    /// Reloads the data that the last slice consumed. This is not measured.
    pub async fn refill(&self) -> Result<(), String> {
        match &self.job {
            ServiceJob::Queue(job) if self.plan.server.speaks_storage() => job.refill(&self.process).await,
            _ => Ok(()),
        }
    }

    /// Waits until the server is idle; `false` if that takes too long.
    pub async fn rests(&self) -> bool {
        self.process.rests().await
    }

    /// Measures one slice.
    pub async fn measure(&self, options: &Options) -> Result<Sample, String> {
        let mut sessions = self.process.sessions(self.service, self.connections(options)).await?;
        if let ServiceJob::Table(job) = &self.job {
            sessions.iter_mut().try_for_each(|session| job.configure(session))?;
        }
        let job = self.job.clone();
        load::measure(&self.process, sessions, options.slice, move |mut session| {
            let job = job.clone();
            async move {
                let step = job.step(&mut session).await?;
                Ok((session, step))
            }
        })
        .await
        .map_err(|error| format!("{}: {error}", self.plan.label))
    }

    fn connections(&self, options: &Options) -> usize {
        match &self.job {
            ServiceJob::Table(job) => job.connections(options, self.plan.server),
            ServiceJob::Queue(job) => job.connections(options, self.plan.server),
            ServiceJob::Blob(job) => job.connections(options, self.plan.server),
        }
    }
}

impl ServiceJob {
    /// Executes the next operations of a session.
    async fn step(&self, session: &mut Session) -> Result<Step, String> {
        match self {
            ServiceJob::Table(job) => job.step(session).await,
            ServiceJob::Queue(job) => job.step(session).await,
            ServiceJob::Blob(job) => job.step(session).await,
        }
    }
}
