//! The workloads by name, and their comparisons.

use lazuli_model::Service;

use crate::Options;
use crate::contestant::ContestantPlan;
use crate::{blob, queue, table};

/// A workload of one of the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Of the Table service.
    Table(table::Work),
    /// Of the Queue service.
    Queue(queue::Work),
    /// Of the Blob service.
    Blob(blob::Work),
}

impl Workload {
    /// All of them, in the order of a report.
    pub fn all() -> Vec<Workload> {
        let tables = table::Work::ALL.into_iter().map(Workload::Table);
        let queues = queue::Work::ALL.into_iter().map(Workload::Queue);
        tables.chain(queues).chain(blob::Work::ALL.into_iter().map(Workload::Blob)).collect()
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Table(work) => work.name(),
            Workload::Queue(work) => work.name(),
            Workload::Blob(work) => work.name(),
        }
    }

    /// Title and description, for reports.
    pub fn about(self) -> (&'static str, &'static str) {
        match self {
            Workload::Table(work) => work.about(),
            Workload::Queue(work) => work.about(),
            Workload::Blob(work) => work.about(),
        }
    }

    /// The unit that its operations are counted in.
    pub fn unit(self) -> &'static str {
        match self {
            Workload::Table(work) => work.unit(),
            Workload::Queue(work) => work.unit(),
            Workload::Blob(work) => work.unit(),
        }
    }

    /// The service that it uses.
    pub fn service(self) -> Service {
        match self {
            Workload::Table(_) => Service::Table,
            Workload::Queue(_) => Service::Queue,
            Workload::Blob(_) => Service::Blob,
        }
    }

    /// The workloads with a name: one workload, or all of a service.
    pub fn from_name(name: &str) -> Vec<Workload> {
        let service = Service::ALL.into_iter().find(|service| service.label() == name);
        let is_named = |workload: &Workload| match service {
            Some(service) => workload.service() == service,
            None => workload.name() == name,
        };
        Self::all().into_iter().filter(is_named).collect()
    }

    /// The contestants: first our server, then the servers and limits that it is compared with.
    pub(crate) fn plans(self, options: &Options) -> Vec<ContestantPlan> {
        let mut plans = match self {
            Workload::Table(work) => work.plans(),
            Workload::Queue(work) => work.plans(options),
            Workload::Blob(work) => work.plans(options),
        };
        // Measure them directly after each other, so that other load on the machine affects both.
        if let Some(ours) = plans.first().copied() {
            plans.insert(1, ours.other());
        }
        plans.into_iter().filter(|plan| plan.server.is_available(options)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_select_their_workload() {
        for workload in Workload::all() {
            assert_eq!(Workload::from_name(workload.name()), [workload]);
        }
    }

    #[test]
    fn the_name_of_a_service_selects_all_of_its_workloads() {
        let selected: usize =
            Service::ALL.iter().map(|service| Workload::from_name(service.label()).len()).sum();
        assert_eq!(selected, Workload::all().len());
        assert!(Workload::from_name("none").is_empty());
    }
}
