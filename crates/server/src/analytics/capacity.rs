//! `$MetricsCapacityBlob`: the space that an account's blobs and logs take, recorded once a day for accounts
//! with hourly metrics.

use lazuli_model::{DateTime, Properties, Property, Service, TableName, Value};
use lazuli_service::MetricsRow;
use lazuli_service::blob::{Blobs, Held};

use super::{DAY_SECONDS, partition, period_start};
use crate::state::State;

/// The table.
pub const TABLE: &str = "$MetricsCapacityBlob";

/// Writes the rows of today for every account that does not have them.
pub async fn measure(state: &State, now: DateTime) {
    let Some(blobs) = state.blobs() else { return };
    for account in state.directory().names() {
        let Some(home) = state.directory().home(&account) else { continue };
        let Ok(properties) = state.service().properties(Service::Blob, &home).await else { continue };
        if properties.hour_metrics.include_apis.is_none() {
            continue;
        }
        if let Err(error) = measure_account(state, blobs, &home, now).await {
            tracing::warn!(account, %error, "failed to measure the capacity of blobs");
        }
    }
}

async fn measure_account(
    state: &State,
    blobs: &Blobs,
    home: &str,
    now: DateTime,
) -> lazuli_service::Result<()> {
    let Some(table) = TableName::of_metrics(TABLE) else { return Ok(()) };
    let day = partition(period_start(now, DAY_SECONDS));
    match state.service().metrics_of(home, &table, &day).await {
        Ok(rows) if !rows.is_empty() => return Ok(()),
        // There is no table yet.
        Ok(_) | Err(lazuli_service::Error::Rejected(_)) => {}
        Err(error) => return Err(error),
    }
    let capacity = blobs.capacity(home).await?;
    let rows = [("data", capacity.data), ("analytics", capacity.analytics)];
    let rows = rows.into_iter().filter_map(|(name, held)| {
        Some(MetricsRow { row: name.to_owned(), properties: columns(held)?, replaces: None })
    });
    // If another front end wrote first, its rows are just as good.
    state.service().put_metrics(home, &table, &day, rows.collect()).await.map(drop)
}

fn columns(held: Held) -> Option<Properties> {
    let Held { bytes, containers, objects } = held;
    let columns = [("Capacity", bytes), ("ContainerCount", containers), ("ObjectCount", objects)];
    let columns = columns.into_iter().map(|(name, value)| Property {
        name: name.to_owned(),
        value: Value::Int64(i64::try_from(value).unwrap_or(i64::MAX)),
    });
    Properties::new(columns.collect()).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use lazuli_engine::Clock;
    use lazuli_engine::memory::Memory;
    use lazuli_model::blob::BlobName;
    use lazuli_model::properties::{Metrics, PropertiesUpdate};
    use lazuli_model::{Metadata, ValueRef};
    use lazuli_service::Grant;
    use lazuli_service::access::Authorized;
    use lazuli_service::blob::Supply;

    use super::*;
    use crate::accounts::{ConfiguredAccount, DEVELOPMENT_ACCOUNT, Directory};
    use crate::config::Config;

    async fn rows(state: &State, day: &str) -> Vec<String> {
        let table = TableName::of_metrics(TABLE).unwrap();
        let home = state.directory().home(DEVELOPMENT_ACCOUNT).unwrap();
        let rows = state.service().metrics_of(&home, &table, day).await.unwrap_or_default();
        let number = |row: &lazuli_model::table::operation::StoredEntity, name: &str| match row
            .properties
            .find(name)
        {
            Ok(Some(ValueRef::Int64(value))) => value,
            other => panic!("{name}: {other:?}"),
        };
        let shown = rows.iter().map(|row| {
            let names = ["Capacity", "ContainerCount", "ObjectCount"];
            format!("{} {:?}", row.row, names.map(|name| number(row, name)))
        });
        shown.collect()
    }

    /// One row for data and one for logs, once a day, and only for accounts with metrics enabled.
    #[tokio::test]
    async fn capacity_is_measured_once_a_day() {
        let engine = Arc::new(Memory::new(Clock::system()));
        let directory = Directory::new(vec![ConfiguredAccount::development()]);
        let state = State::over(engine, directory, Config::new(([127, 0, 0, 1], 0).into())).unwrap();
        let (home, blobs) = (state.directory().home(DEVELOPMENT_ACCOUNT).unwrap(), state.blobs().unwrap());
        let log = BlobName::new("table/2014/07/31/1800/000000.log").unwrap();
        let annotate = || -> lazuli_service::blob::Annotate { Arc::new(|_| Metadata::default()) };
        let lines = Bytes::from_static(b"a line\n");
        assert!(blobs.append_log(&home, &log, lines.clone(), annotate(), u64::MAX).await.unwrap());
        let day = |text: &str| DateTime::parse(text).unwrap();
        measure(&state, day("2014-07-31T20:00:00Z")).await;
        assert_eq!(rows(&state, "20140731T0000").await, [""; 0], "metrics are off");
        let hour_metrics = Some(Metrics { include_apis: Some(false), retention_days: None });
        let update = PropertiesUpdate { hour_metrics, ..PropertiesUpdate::default() };
        let operation = lazuli_model::blob::Operation::SetProperties(Box::new(update));
        let grant = Grant::everything(&*home);
        blobs.execute(Authorized::new(&grant, operation).unwrap(), Supply::Nothing).await.unwrap();
        measure(&state, day("2014-07-31T20:00:00Z")).await;
        let expected = ["analytics [7, 1, 1]", "data [0, 0, 0]"];
        assert_eq!(rows(&state, "20140731T0000").await, expected);
        assert!(blobs.append_log(&home, &log, lines, annotate(), u64::MAX).await.unwrap());
        measure(&state, day("2014-07-31T22:00:00Z")).await;
        assert_eq!(rows(&state, "20140731T0000").await, expected, "once a day");
        measure(&state, day("2014-08-01T00:00:00Z")).await;
        assert_eq!(rows(&state, "20140801T0000").await, ["analytics [14, 1, 1]", "data [0, 0, 0]"]);
    }
}
