//! PT-24: reading row by row without async, reading page by page with a token that can be stored, and an upsert.

use lazuli_client::{Dynamic, Error, Ran, Result, Table, TableService, blocking, keys, partition_key};

use super::shared::{assert_rows_read, fresh, read};

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "Reading").await?;
    let mut batch = table.partition("Sales")?.batch();
    for number in 0..25 {
        batch.insert(&Dynamic::new("Sales", keys::padded(number, 6)?))?;
    }
    batch.execute().await?;

    // A blocking program must not run on a thread of the runtime.
    let (waiting, name) = (service.clone(), table.name().to_owned());
    let waited = tokio::task::spawn_blocking(move || row_by_row(waiting, &name)).await;
    let (count, ran) = waited.map_err(|error| Error::input(error.to_string()))??;
    assert_eq!(count, 25);
    assert_rows_read(&ran, 25);

    assert_eq!(page_by_page(&table).await?, [10, 10, 5]);

    // Whether or not it exists.
    let employee = Dynamic::new("Sales", "000007").with("LastName", "Jones")?;
    table.upsert(&employee).await?;
    table.upsert(&Dynamic::new("Sales", "000099")).await?;
    let (rows, ran) = read(table.query::<Dynamic>().filter(partition_key().eq("Sales"))).await?;
    assert_eq!(rows.len(), 26);
    assert_rows_read(&ran, 26);
    table.delete().await
}

/// Without async: pages are fetched when needed, and the loop waits for them.
fn row_by_row(service: TableService, name: &str) -> Result<(usize, Ran)> {
    let table = blocking::Client::new(service)?.table(name)?;
    let query = table.inner().query::<Dynamic>().filter(partition_key().eq("Sales")).explained();
    let (mut rows, mut count) = (query.stream(), 0);
    while table.wait(rows.try_next())?.is_some() {
        count += 1;
    }
    Ok((count, rows.explain().ran.unwrap_or_default()))
}

/// With async, in explicit pages: each token is a string, so another process could read the next page. Returns the
/// number of rows of each page.
async fn page_by_page(table: &Table) -> Result<Vec<usize>> {
    let (mut stored, mut sizes) = (None::<String>, Vec::new());
    loop {
        let query = table.query::<Dynamic>().filter(partition_key().eq("Sales")).page_size(10).explained();
        let query = match &stored {
            Some(text) => query.resume(&text.parse()?),
            None => query,
        };
        let mut pages = query.pages();
        let Some(page) = pages.try_next().await? else { return Ok(sizes) };
        assert_page(&pages.explain().ran.unwrap_or_default(), page.rows.len());
        sizes.extend(Some(page.rows.len()).filter(|rows| *rows > 0));
        match page.next {
            Some(token) => stored = Some(token.to_string()),
            None => return Ok(sizes),
        }
    }
}

/// A page reads the rows it returns, and at most one more to find out whether there is a next page.
fn assert_page(ran: &Ran, rows: usize) {
    if let Some(read) = ran.rows_read {
        let rows = u64::try_from(rows).unwrap_or_default();
        assert!((rows..=rows + 1).contains(&read), "rows read by the server: {ran}");
    }
}
