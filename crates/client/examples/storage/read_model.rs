//! GD-09: a read model. Commands change orders; a worker maintains a table of totals by customer, which queries read. An event
//! says only whose orders changed: the worker recomputes the total, so events may come twice and in any order.

use std::time::Duration;

use lazuli_client::{Dynamic, ETag, Entity, Error, Result, Table, partition_key};

use super::queue::Queue;
use super::services::Storage;
use super::shared::{assert_rows_read, fresh, read, read_point};
use super::steps::{Steps, Work, complete, survive};

const HIDDEN: Duration = Duration::from_secs(30);
const STEPS: u32 = 4;
const TRIES_MAX: usize = 10;

/// The data of a customer on the front page.
#[derive(Clone, Debug, PartialEq, Entity)]
#[table(rename_all = "PascalCase")]
struct Summary {
    #[table(partition_key)]
    region: String,
    #[table(row_key)]
    customer: String,
    orders: i32,
    cents: i64,
}

struct Shop {
    orders: Table,
    view: Table,
    events: Queue,
}

pub async fn run(storage: &Storage) -> Result<()> {
    let shop = Shop {
        orders: fresh(&storage.tables, "Orders").await?,
        view: fresh(&storage.tables, "Summaries").await?,
        events: storage.fresh_queue("orders-changed").await?,
    };
    for (customer, order, cents) in [("ann", "1", 500), ("ann", "2", 250), ("bob", "3", 900)] {
        shop.order(customer, order, cents).await?;
    }
    while complete(shop.work(Steps::all()).await)? {}
    // A page of the view reads the rows that it shows, not the orders behind them.
    let (page, ran) = read(shop.view.query::<Summary>().filter(partition_key().eq("EU"))).await?;
    assert_eq!(
        page.iter().map(|row| (&*row.customer, row.orders, row.cents)).collect::<Vec<_>>(),
        [("ann", 2, 750), ("bob", 1, 900)]
    );
    assert_rows_read(&ran, 2);

    let mut cents = 750;
    for crash_after in 1..=STEPS {
        shop.order("ann", &format!("{}", 10 + crash_after), 100).await?;
        cents += 100;
        assert!(survive(shop.work(Steps::crash_after(crash_after)).await)?.is_none());
        storage.wait(HIDDEN).await;
        assert_eq!(complete(shop.work(Steps::all()).await)?, crash_after < STEPS);
        assert_eq!(read_point::<Summary>(&shop.view, "EU", "ann").await?.cents, cents);
    }
    shop.events.drop().await?;
    shop.view.delete().await?;
    shop.orders.delete().await
}

impl Shop {
    /// A command. The event goes first: without the order it changes nothing, without the event the view would be wrong for ever.
    async fn order(&self, customer: &str, order: &str, cents: i64) -> Result<()> {
        self.events.put(customer).await?;
        self.orders.insert(&Dynamic::new(customer, order).with("Cents", cents)?).await.map(drop)
    }

    /// One event.
    async fn work(&self, steps: Steps) -> Work<bool> {
        let Some(event) = self.events.get(HIDDEN).await? else { return Ok(false) };
        steps.done(1)?;
        for _ in 0..TRIES_MAX {
            // The view's version is read before the orders: a worker that read older orders cannot overwrite a newer summary.
            let tag = self.view.try_get::<Summary>("EU", event.text.as_str()).await?.map(|found| found.etag);
            let summary = self.sum(&event.text).await?;
            steps.done(2)?;
            if self.write(&summary, tag.as_ref()).await? {
                steps.done(3)?;
                self.events.delete(&event).await?;
                steps.done(4)?;
                return Ok(true);
            }
        }
        Err(Error::input("too much contention").into())
    }

    async fn sum(&self, customer: &str) -> Result<Summary> {
        let orders = self.orders.query::<Dynamic>().filter(partition_key().eq(customer)).collect().await?;
        let cents = orders.iter().map(|order| Ok(order.get::<i64>("Cents")?.unwrap_or(0)));
        let cents = cents.sum::<Result<i64>>()?;
        let orders = i32::try_from(orders.len()).unwrap_or(i32::MAX);
        Ok(Summary { region: "EU".into(), customer: customer.to_owned(), orders, cents })
    }

    /// `false` if another worker changed the row since its version was read.
    async fn write(&self, summary: &Summary, tag: Option<&ETag>) -> Result<bool> {
        let written = match tag {
            Some(tag) => self.view.update_if(summary, tag).await,
            None => self.view.insert(summary).await,
        };
        match written {
            Ok(_) => Ok(true),
            Err(error) if error.is_precondition_failed() || error.is_conflict() => Ok(false),
            Err(error) => Err(error),
        }
    }
}
