//! The tables in which the service stores an account's metrics.
//!
//! They are tables like others, but only the service writes them: see [`crate::access`]. Each partition is a period.

use lazuli_filter::{PlanBound, PlanPosition, PlanRange};
use lazuli_model::table::Outcome;
use lazuli_model::table::operation::{
    EntityChange, EntityPage, EntityQuery, EntityWrite, Match, StoredEntity,
};
use lazuli_model::{DateTime, EntityKey, ErrorCode, Key, Properties, TableName};

use crate::{Error, Grant, RangeEnds, Result, Scope, Services, SignedPart};

/// A row of metrics to write.
#[derive(Clone, Debug)]
pub struct MetricsRow {
    /// RowKey.
    pub row: String,
    /// Its properties.
    pub properties: Properties,
    /// The Timestamp of the row that it replaces; `None` for a new row.
    pub replaces: Option<DateTime>,
}

impl Services {
    /// The rows of a period.
    pub async fn metrics_of(&self, home: &str, table: &TableName, period: &str) -> Result<Vec<StoredEntity>> {
        let ends = RangeEnds { first: (period, ""), last: (period, "") };
        Ok(self.metrics_page(home, table, ends.window()).await?.rows)
    }

    /// Writes all rows of a period, and creates the table if necessary. Writes nothing and returns `false` if another
    /// front end has changed one of the rows since it was read, because its metrics would be lost.
    pub async fn put_metrics(
        &self,
        home: &str,
        table: &TableName,
        period: &str,
        rows: Vec<MetricsRow>,
    ) -> Result<bool> {
        match self.create_table(home, table).await {
            Ok(_) => {}
            Err(Error::Rejected(failure)) if failure.code == ErrorCode::TableAlreadyExists => {}
            Err(error) => return Err(error),
        }
        let partition = key(period)?;
        let writes: Result<Vec<EntityWrite>> = rows
            .into_iter()
            .map(|MetricsRow { row, properties, replaces }| {
                let key = EntityKey { partition: partition.clone(), row: key(&row)? };
                let change = match replaces {
                    Some(timestamp) => EntityChange::Replace(properties, Match::Version(timestamp)),
                    None => EntityChange::Insert(properties),
                };
                Ok(EntityWrite { key, change })
            })
            .collect();
        match self.batch(home, table, writes?).await {
            Ok(_) => Ok(true),
            Err(Error::Rejected(failure)) if has_changed(failure.code) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes the rows of all periods before this one.
    pub async fn trim_metrics(&self, home: &str, table: &TableName, period: &str) -> Result<()> {
        let end = PlanBound::Excluded(PlanPosition { partition: period.into(), row: String::new() });
        loop {
            let window = PlanRange { start: PlanBound::Open, end: end.clone() };
            let page = match self.metrics_page(home, table, window).await {
                Err(Error::Rejected(failure)) if failure.code == ErrorCode::TableNotFound => return Ok(()),
                page => page?,
            };
            let Some(first) = page.rows.first() else { return Ok(()) };
            // A commit covers only one partition.
            let same = page.rows.iter().filter(|row| row.partition == first.partition);
            let writes: Result<Vec<EntityWrite>> = same
                .map(|row| {
                    let key = EntityKey { partition: key(&row.partition)?, row: key(&row.row)? };
                    Ok(EntityWrite { key, change: EntityChange::Delete(Match::Any) })
                })
                .collect();
            match self.batch(home, table, writes?).await {
                // Another front end may be deleting, too.
                Err(Error::Rejected(failure)) if failure.code == ErrorCode::ResourceNotFound => {}
                done => drop(done?),
            }
        }
    }

    async fn metrics_page(&self, home: &str, table: &TableName, window: PlanRange) -> Result<EntityPage> {
        let scope = Scope::Resource {
            service: lazuli_model::Service::Table,
            name: table.folded(),
            permissions: Default::default(),
            part: SignedPart::Entities(window),
        };
        let grant = Grant { scope, ..Grant::everything(home) };
        let query = EntityQuery::default();
        match self.query_entities(&grant, table, query, self.options.query_time_max).await? {
            Outcome::Page(page) => Ok(page),
            _ => Ok(EntityPage::default()),
        }
    }
}

/// Was it rejected because a row has changed since it was read?
fn has_changed(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::EntityAlreadyExists | ErrorCode::ResourceNotFound | ErrorCode::UpdateConditionNotSatisfied
    )
}

/// The service generates these keys, so they are valid.
fn key(text: &str) -> Result<Key> {
    Key::new(text).map_err(|_| ErrorCode::InternalError.into())
}
