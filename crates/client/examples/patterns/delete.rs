//! PT-13: data that is deleted together is stored in its own table. A day of logins is deleted with one request; in one
//! big table it takes a scan of all rows and a transaction per hundred.

use lazuli_client::{Dynamic, Result, TableService, keys, partition_key};

use super::shared::{assert_rows_read, fresh, read};

const LOGINS: u64 = 250;
const BATCH_MAX: usize = 100;

pub async fn run(service: &TableService) -> Result<()> {
    let day = fresh(service, "Logins20120229").await?;
    let all = fresh(service, "LoginsAll").await?;
    for table in [&day, &all] {
        let logins = (0..LOGINS)
            .map(|n| Ok(Dynamic::new("20120229", keys::padded(n, 6)?)))
            .collect::<Result<Vec<_>>>()?;
        for part in logins.chunks(BATCH_MAX) {
            let mut batch = table.partition("20120229")?.batch();
            part.iter().try_for_each(|login| batch.insert(login).map(drop))?;
            batch.execute().await?;
        }
    }
    // Scan, and delete a hundred at a time.
    let query = all.query::<Dynamic>().filter(partition_key().eq("20120229")).select(["RowKey"]);
    let (logins, ran) = read(query).await?;
    assert_rows_read(&ran, LOGINS);
    let mut requests = ran.requests;
    for part in logins.chunks(BATCH_MAX) {
        let mut batch = all.partition("20120229")?.batch();
        part.iter().try_for_each(|login| batch.delete(login.row_key.as_str()).map(drop))?;
        batch.execute().await?;
        requests += 1;
    }
    assert_eq!(all.query::<Dynamic>().count().await?, 0);
    assert_eq!(requests, 4, "compared with one for the table of the day");
    day.delete().await?;
    assert!(!day.exists().await?);
    all.delete().await
}
