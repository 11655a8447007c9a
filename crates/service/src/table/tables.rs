//! Tables: listed, looked up, created, deleted.

use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::Verdict;
use lazuli_filter::TableRow;
use lazuli_model::table::Outcome;
use lazuli_model::table::limits::PAGE_ROWS_MAX;
use lazuli_model::table::operation::TableQuery;
use lazuli_model::{ErrorCode, SignedIdentifier, TableName};

use super::name;
use super::window::Window;
use crate::catalog::{Created, Edit, NewContainer};
use crate::deadline::Deadline;
use crate::record::ContainerRecord;
use crate::{Grant, Result, Services, keyspace};

/// Names of tables start with letters. Those of the service's own tables start with a dollar sign and are not listed.
const FIRST_NAME: &str = "a";

impl Services {
    /// OP-01, PG-13.
    pub(crate) async fn query_tables(
        &self,
        grant: &Grant,
        query: TableQuery,
        time: Duration,
    ) -> Result<Outcome> {
        let mut deadline = Deadline::new(self.options.elapsed.clone(), time);
        let filter = query.filter;
        let window = filter.as_ref().map_or(Some(Window::default()), Window::of);
        let Some(window) = window.filter(|_| query.top != Some(0)) else {
            return Ok(Outcome::Tables { names: Vec::new(), next: None });
        };
        let from = query.from.as_deref().unwrap_or_default().max(&window.from).max(FIRST_NAME);
        let before = window.before.as_deref();
        let range = keyspace::live_between(lazuli_model::Service::Table, &grant.home, from, before);
        let rows_max = query.top.unwrap_or(PAGE_ROWS_MAX).min(PAGE_ROWS_MAX);
        let judge = Box::new(move |row: lazuli_engine::RowView<'_>| {
            if deadline.passed() {
                return Ok(Verdict::Stop);
            }
            let Some(filter) = &filter else { return Ok(Verdict::Keep) };
            let record = ContainerRecord::decode(row.value)?;
            let wanted = lazuli_filter::matches(filter, &TableRow(&record.name))
                .map_err(|corrupt| lazuli_engine::Error::Corrupt(corrupt.to_string()))?;
            Ok(if wanted { Verdict::Keep } else { Verdict::Skip })
        });
        let page = self.catalog.list(range, rows_max, judge).await?;
        let names = page.containers.into_iter().map(|(record, _)| record.name).collect();
        Ok(Outcome::Tables { names, next: page.next })
    }

    /// OP-02.
    pub(crate) async fn get_table(&self, grant: &Grant, table: &TableName) -> Result<Outcome> {
        match self.catalog.read(name(&grant.home, &table.folded())).await? {
            Some(live) => Ok(Outcome::Table(live.record.name)),
            None => Err(ErrorCode::ResourceNotFound.into()),
        }
    }

    /// OP-03, OP-04, OP-18.
    pub(crate) async fn create_table(&self, home: &str, table: &TableName) -> Result<Outcome> {
        let draft = NewContainer { name: table.as_str().to_owned(), tables: 1, data: Default::default() };
        match self.catalog.create(name(home, &table.folded()), draft).await? {
            Created::Done(record) => Ok(Outcome::TableCreated(record.name)),
            Created::Exists => Err(ErrorCode::TableAlreadyExists.into()),
            Created::Blocked => Err(ErrorCode::TableBeingDeleted.into()),
        }
    }

    /// OP-05, OP-19: one small commit, regardless of the size of the table.
    pub(crate) async fn delete_table(&self, home: &str, table: &TableName) -> Result<Outcome> {
        if self.catalog.delete(name(home, &table.folded()), |_| Ok(())).await? {
            Ok(Outcome::TableDeleted)
        } else {
            Err(ErrorCode::ResourceNotFound.into())
        }
    }

    pub(crate) async fn get_acl(&self, grant: &Grant, table: &TableName) -> Result<Outcome> {
        let found = self.catalog.find(name(&grant.home, &table.folded())).await?;
        let found = found.ok_or(ErrorCode::TableNotFound)?;
        Ok(Outcome::Acl(found.record.policies.to_vec()))
    }

    /// OP-22: effective immediately, and deleted with the table.
    pub(crate) async fn set_acl(
        &self,
        grant: &Grant,
        table: &TableName,
        policies: Vec<SignedIdentifier>,
    ) -> Result<Outcome> {
        let policies: Arc<[SignedIdentifier]> = policies.into();
        let folded = table.folded();
        let edited = self.catalog.edit(name(&grant.home, &folded), |live| {
            let record = ContainerRecord { policies: policies.clone(), ..live.record.clone() };
            Ok(Edit { record, dropped: Vec::new(), result: () })
        });
        edited.await?.ok_or(ErrorCode::TableNotFound)?;
        Ok(Outcome::AclSet)
    }
}
