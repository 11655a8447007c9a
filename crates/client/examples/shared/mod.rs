//! Shared by the examples: a service, a fresh table, and the cost of a query.

use std::future::Future;

use lazuli_client::{Entity, Error, Query, Ran, Result, Table, TableService, partition_key, row_key};

/// The service of the connection string in the first argument or in `LAZULI_CONNECTION`; without one, Lazuli in this
/// process, with its data in memory.
pub fn service() -> Result<TableService> {
    let given = std::env::args().nth(1).or_else(|| std::env::var("LAZULI_CONNECTION").ok());
    match given {
        Some(text) => TableService::from_connection_string(&text),
        None => Ok(lazuli_embedded::memory()),
    }
}

/// Runs an example to its end.
pub fn start<F: Future<Output = Result<()>>>(example: impl FnOnce(TableService) -> F) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::input(error.to_string()))?;
    runtime.block_on(example(service()?))
}

/// An empty table with a name unique to this run.
pub async fn fresh(service: &TableService, name: &str) -> Result<Table> {
    let table = service.table(&format!("{name}{}", std::process::id()))?;
    table.delete_if_exists().await?;
    table.create().await?;
    Ok(table)
}

/// The rows of a query, and its cost.
pub async fn read<T: Entity>(query: Query<T>) -> Result<(Vec<T>, Ran)> {
    let mut rows = query.explained().stream();
    let mut found = Vec::new();
    while let Some(row) = rows.try_next().await? {
        found.push(row);
    }
    Ok((found, rows.explain().ran.unwrap_or_default()))
}

/// The entity with a key, by a query, so that the server reports what it read: this row and no other.
pub async fn read_point<T: Entity>(table: &Table, partition: &str, row: &str) -> Result<T> {
    let point = partition_key().eq(partition) & row_key().eq(row);
    let (mut found, ran) = read(table.query::<T>().filter(point)).await?;
    assert_rows_read(&ran, 1);
    found.pop().ok_or_else(|| Error::input(format!("no entity ('{partition}', '{row}')")))
}

/// Checks the number of rows that the server read, if it reports that.
#[track_caller]
pub fn assert_rows_read(ran: &Ran, expected: u64) {
    if let Some(read) = ran.rows_read {
        assert_eq!(read, expected, "rows read by the server: {ran}");
    }
}
