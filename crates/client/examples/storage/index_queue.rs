//! PT-08: index entities in a table of their own, which list the employees of the whole organisation by last name. Changes
//! go through a queue; several workers may change one list, so each writes the version that it has read.

use std::time::Duration;

use lazuli_client::{Dynamic, Entity, Error, Result, Table};

use super::queue::Queue;
use super::services::Storage;
use super::shared::{fresh, read_point};
use super::steps::{Steps, Work, complete, survive};

const HIDDEN: Duration = Duration::from_secs(30);
const STEPS: u32 = 5;
const TRIES_MAX: usize = 10;

/// The employees with a last name, as `department/number`.
#[derive(Clone, Debug, Default, Entity)]
#[table(rename_all = "PascalCase")]
struct Index {
    #[table(partition_key)]
    last_name: String,
    #[table(row_key)]
    row: String,
    #[table(json, default)]
    employees: Vec<String>,
}

struct Staff {
    employees: Table,
    index: Table,
    queue: Queue,
}

pub async fn run(storage: &Storage) -> Result<()> {
    let staff = Staff {
        employees: fresh(&storage.tables, "Employees").await?,
        index: fresh(&storage.tables, "LastNames").await?,
        queue: storage.fresh_queue("last-names").await?,
    };
    for change in ["Sales 000152 - Jones", "Marketing 000223 - Jones", "Sales 000010 - Smith"] {
        staff.queue.put(change).await?;
        assert!(complete(staff.work(Steps::all()).await)?);
    }
    assert_eq!(staff.look_up("Jones").await?, ["000152", "000223"]);

    // An employee changes the name back and forth; a worker crashes at each step.
    let (mut from, mut to) = ("Jones", "Smith");
    for crash_after in 1..=STEPS {
        staff.queue.put(&format!("Marketing 000223 {from} {to}")).await?;
        assert!(survive(staff.work(Steps::crash_after(crash_after)).await)?.is_none());
        storage.wait(HIDDEN).await;
        assert_eq!(complete(staff.work(Steps::all()).await)?, crash_after < STEPS);
        assert!(staff.look_up(to).await?.contains(&"000223".to_owned()));
        assert!(!staff.look_up(from).await?.contains(&"000223".to_owned()));
        (from, to) = (to, from);
    }
    assert_eq!(staff.queue.depth().await?, 0);
    staff.queue.drop().await?;
    staff.index.delete().await?;
    staff.employees.delete().await
}

impl Staff {
    /// One change: `department, number, old name or -, new name`.
    async fn work(&self, steps: Steps) -> Work<bool> {
        let Some(message) = self.queue.get(HIDDEN).await? else { return Ok(false) };
        steps.done(1)?;
        let [department, id, from, to] = message.text.split(' ').collect::<Vec<_>>()[..] else {
            return Err(Error::input("not a change").into());
        };
        self.employees.upsert(&Dynamic::new(department, id).with("LastName", to)?).await?;
        steps.done(2)?;
        let entry = format!("{department}/{id}");
        self.change(to, |list| list.push(entry.clone()), &entry).await?;
        steps.done(3)?;
        if from != "-" {
            self.change(from, |_| (), &entry).await?;
        }
        steps.done(4)?;
        self.queue.delete(&message).await?;
        steps.done(5)?;
        Ok(true)
    }

    /// Changes a list that does not contain `entry`. Starts over if another worker was faster.
    async fn change(&self, last_name: &str, change: impl Fn(&mut Vec<String>), entry: &str) -> Result<()> {
        for _ in 0..TRIES_MAX {
            let found = self.index.try_get::<Index>(last_name, "").await?;
            let (mut list, tag) = match found {
                Some(found) => (found.value, Some(found.etag)),
                None => (Index { last_name: last_name.to_owned(), ..Index::default() }, None),
            };
            list.employees.retain(|known| known != entry);
            change(&mut list.employees);
            let written = match &tag {
                Some(tag) => self.index.update_if(&list, tag).await,
                None => self.index.insert(&list).await,
            };
            match written {
                Err(error) if error.is_precondition_failed() || error.is_conflict() => {}
                other => return other.map(drop),
            }
        }
        Err(Error::input("too much contention"))
    }

    /// One read of the list, and one of each employee.
    async fn look_up(&self, last_name: &str) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in read_point::<Index>(&self.index, last_name, "").await?.employees {
            let (department, id) = entry.split_once('/').unwrap_or_default();
            found.push(read_point::<Dynamic>(&self.employees, department, id).await?.row_key);
        }
        Ok(found)
    }
}
