//! The part of a soak that works on tables: workers with a partition each, and tables that are created and
//! deleted.

mod churn;
mod worker;

pub(crate) use churn::run as churn;
pub(crate) use worker::Worker;

/// The table that the workers share.
pub(crate) const TABLE: &str = "soak";
