//! PT-24: reading row by row, reading page by page with a token that can be stored, and an upsert.

use lazuli_client::{Dynamic, Result, TableService, keys, partition_key};

use super::shared::fresh;

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "Reading").await?;
    let mut batch = table.partition("Sales")?.batch();
    for number in 0..25 {
        batch.insert(&Dynamic::new("Sales", keys::padded(number, 6)?))?;
    }
    batch.execute().await?;
    let query = || table.query::<Dynamic>().filter(partition_key().eq("Sales"));

    // Row by row: pages come when they are needed.
    let (mut rows, mut count) = (query().stream(), 0);
    while rows.try_next().await?.is_some() {
        count += 1;
    }
    assert_eq!(count, 25);

    // Page by page: each token is a text, and the next page could be read by another process.
    let (mut stored, mut sizes) = (None::<String>, Vec::new());
    loop {
        let query = query().page_size(10);
        let query = match &stored {
            Some(text) => query.resume(&text.parse()?),
            None => query,
        };
        let Some(page) = query.pages().try_next().await? else { break };
        sizes.push(page.rows.len());
        match page.next {
            Some(token) => stored = Some(token.to_string()),
            None => break,
        }
    }
    assert_eq!(sizes.iter().sum::<usize>(), 25);
    assert_eq!(sizes[..2], [10, 10]);

    // Whether it is there or not.
    let employee = Dynamic::new("Sales", "000007").with("LastName", "Jones")?;
    table.upsert(&employee).await?;
    table.upsert(&Dynamic::new("Sales", "000099")).await?;
    assert_eq!(query().count().await?, 26);
    table.delete().await
}
