//! PT-03: employees by number in one partition and by mail address in another. No transaction spans the two, so a queue
//! keeps them consistent in the end.

use std::time::Duration;

use lazuli_client::{Dynamic, Error, Result, Table, partition_key, row_key};

use super::queue::Queue;
use super::services::Storage;
use super::shared::{assert_rows_read, fresh, read};
use super::steps::{Steps, Work, complete, survive};

const HIDDEN: Duration = Duration::from_secs(30);
const STEPS: u32 = 5;

pub async fn run(storage: &Storage) -> Result<()> {
    let table = fresh(&storage.tables, "IndexPartitions").await?;
    let queue = storage.fresh_queue("index-partitions").await?;
    // The message has all that a worker needs, the old address included: after a crash it is nowhere else.
    for change in ["000110 - annb@contoso.com", "000150 - andys@contoso.com", "000223 - jonesj@contoso.com"] {
        queue.put(change).await?;
        assert!(complete(work(&table, &queue, Steps::all()).await)?);
    }
    let (by_id, by_mail) = (|| partition_key().eq("empid_Sales"), || partition_key().eq("email_Sales"));
    for (filter, rows) in [
        (by_id() & row_key().eq("000223"), 1),
        (by_mail() & row_key().eq("jonesj@contoso.com"), 1),
        (by_id() & row_key().ge("000100") & row_key().le("000199"), 2),
        (by_mail() & row_key().ge("a") & row_key().lt("b"), 2),
    ] {
        let (found, ran) = read(table.query::<Dynamic>().filter(filter)).await?;
        assert_eq!(found.len(), rows);
        assert_rows_read(&ran, u64::try_from(rows).unwrap_or_default());
    }

    // A new address: the copy under the old one disappears, wherever the worker crashes.
    let mut old = "jonesj@contoso.com".to_owned();
    for crash_after in 1..=STEPS {
        let new = format!("jones{crash_after}@contoso.com");
        queue.put(&format!("000223 {old} {new}")).await?;
        assert!(survive(work(&table, &queue, Steps::crash_after(crash_after)).await)?.is_none());
        storage.wait(HIDDEN).await;
        assert_eq!(complete(work(&table, &queue, Steps::all()).await)?, crash_after < STEPS);
        let employee = table.get::<Dynamic>("empid_Sales", "000223").await?.value;
        assert_eq!(employee.get::<String>("Email")?.as_deref(), Some(&*new));
        let copy = table.get::<Dynamic>("email_Sales", new.as_str()).await?.value;
        assert_eq!(copy.get::<String>("EmployeeId")?.as_deref(), Some("000223"));
        assert!(table.try_get::<Dynamic>("email_Sales", old.as_str()).await?.is_none());
        old = new;
    }
    assert_eq!(table.query::<Dynamic>().count().await?, 6);
    queue.drop().await?;
    table.delete().await
}

/// One change: `number, old address or -, new address`.
async fn work(table: &Table, queue: &Queue, steps: Steps) -> Work<bool> {
    let Some(message) = queue.get(HIDDEN).await? else { return Ok(false) };
    steps.done(1)?;
    let [id, old, new] = message.text.split(' ').collect::<Vec<_>>()[..] else {
        return Err(Error::input("not a change").into());
    };
    let employee =
        |partition: &str, row: &str| Dynamic::new(partition, row).with("EmployeeId", id)?.with("Email", new);
    table.upsert(&employee("empid_Sales", id)?).await?;
    steps.done(2)?;
    table.upsert(&employee("email_Sales", new)?).await?;
    steps.done(3)?;
    if old != "-" {
        table.delete_entity_if_exists("email_Sales", old).await?;
    }
    steps.done(4)?;
    queue.delete(&message).await?;
    steps.done(5)?;
    Ok(true)
}
