//! PT-06, PT-09: a blob per last name lists the employees who have it. Changes go through a queue, each list is changed by its
//! ETag, and a list may be larger than the 1 MB that fit into an entity.

use std::time::Duration;

use lazuli_client::{Dynamic, Error, Result, Table};
use tokio::sync::Barrier;

use super::blob::Container;
use super::queue::Queue;
use super::services::Storage;
use super::shared::{fresh, read_point};
use super::steps::{Steps, Work, complete, survive};

const HIDDEN: Duration = Duration::from_secs(30);
const STEPS: u32 = 5;
const TRIES_MAX: usize = 10;
const ENTITY_BYTES_MAX: usize = 1024 * 1024;

struct Staff {
    employees: Table,
    names: Container,
    queue: Queue,
}

pub async fn run(storage: &Storage) -> Result<()> {
    let staff = Staff {
        employees: fresh(&storage.tables, "Staff").await?,
        names: storage.fresh_container("last-names").await?,
        queue: storage.fresh_queue("staff-changes").await?,
    };
    for change in ["Sales 000152 - Jones", "Marketing 000223 - Jones", "Sales 000010 - Smith"] {
        staff.queue.put(change).await?;
        assert!(complete(staff.work(Steps::all()).await)?);
    }
    assert_eq!(staff.look_up("Jones").await?, ["000152", "000223"]);

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
    two_changes_at_once(&staff).await?;
    a_list_beyond_an_entity(&staff).await?;
    staff.queue.drop().await?;
    staff.names.drop().await?;
    staff.employees.delete().await
}

/// Two workers read the same version of a list before either of them writes: one gets an error, and starts over with the list of
/// the other. The first time there is no list yet (409), the second time it has changed (412).
async fn two_changes_at_once(staff: &Staff) -> Result<()> {
    let mut expected = Vec::new();
    for [one, other] in [["Sales/000300", "Sales/000301"], ["Sales/000302", "Sales/000303"]] {
        let both_have_read = Barrier::new(2);
        let change = |entry| staff.try_change("Brown", entry, true, Some(&both_have_read));
        let tries = tokio::try_join!(change(one), change(other))?;
        assert!(matches!(tries, (1, 2) | (2, 1)), "one of them was faster: {tries:?}");
        expected.extend([one, other]);
        let mut entries = staff.list("Brown").await?.0;
        entries.sort_unstable();
        assert_eq!(entries, expected, "neither has overwritten the other");
    }
    Ok(())
}

/// PT-09: the list of the most frequent name outgrows an entity; a blob has room for it.
async fn a_list_beyond_an_entity(staff: &Staff) -> Result<()> {
    let list: Vec<String> = (0..80_000).map(|n| format!("Logistics/{n:06}")).collect();
    let text = list.join("\n");
    assert!(text.len() > ENTITY_BYTES_MAX);
    let mut index = Dynamic::new("index", "Smith");
    let parts = text.as_bytes().chunks(60 * 1024).enumerate();
    let rejected =
        parts.map(|(n, part)| index.set(format!("Part{n:02}"), part.to_vec()).map(drop)).find(Result::is_err);
    assert!(rejected.is_some(), "not even in parts");

    staff.names.put("Smith", text, &[]).await?.expect(201)?;
    staff.employees.insert(&Dynamic::new("Logistics", "079999").with("LastName", "Smith")?).await?;
    let entries = staff.list("Smith").await?.0;
    assert_eq!(entries.len(), list.len());
    // A page of the result reads the entities that it shows.
    let last = entries.last().map(String::as_str).unwrap_or_default();
    assert_eq!(staff.employee(last).await?.row_key, "079999");
    // Changing the list costs one read and one write of the blob, whatever its size.
    staff.change("Smith", "Logistics/080000", true).await?;
    assert_eq!(staff.list("Smith").await?.0.len(), list.len() + 1);
    Ok(())
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
        self.change(to, &entry, true).await?;
        steps.done(3)?;
        if from != "-" {
            self.change(from, &entry, false).await?;
        }
        steps.done(4)?;
        self.queue.delete(&message).await?;
        steps.done(5)?;
        Ok(true)
    }

    /// Adds an entry to a list, or removes it.
    async fn change(&self, last_name: &str, entry: &str, joins: bool) -> Result<()> {
        self.try_change(last_name, entry, joins, None).await.map(drop)
    }

    /// The same. Starts over if another worker was faster, and returns the number of tries. The first one waits at `read`
    /// between reading and writing.
    async fn try_change(
        &self,
        last_name: &str,
        entry: &str,
        joins: bool,
        mut read: Option<&Barrier>,
    ) -> Result<usize> {
        for tries in 1..=TRIES_MAX {
            let (mut entries, tag) = self.list(last_name).await?;
            if let Some(read) = read.take() {
                read.wait().await;
            }
            entries.retain(|known| known != entry);
            entries.extend(joins.then(|| entry.to_owned()));
            let condition = match &tag {
                Some(tag) => ("If-Match", tag.as_str()),
                None => ("If-None-Match", "*"),
            };
            let written = self.names.put(last_name, entries.join("\n"), &[condition]).await?;
            if !matches!(written.status(), 409 | 412) {
                return written.expect(201).map(|_| tries);
            }
        }
        Err(Error::input("too much contention"))
    }

    /// The entries of a list, and its version if there is one.
    async fn list(&self, last_name: &str) -> Result<(Vec<String>, Option<String>)> {
        let found = self.names.get(last_name, &[]).await?;
        if found.rejection() == (404, "BlobNotFound") {
            return Ok((Vec::new(), None));
        }
        let found = found.expect(200)?;
        let entries = found.text().lines().map(str::to_owned).collect();
        Ok((entries, Some(found.etag().to_owned())))
    }

    /// One read of the list, and one of each employee.
    async fn look_up(&self, last_name: &str) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for entry in self.list(last_name).await?.0 {
            found.push(self.employee(&entry).await?.row_key);
        }
        Ok(found)
    }

    async fn employee(&self, entry: &str) -> Result<Dynamic> {
        let (department, id) = entry.split_once('/').unwrap_or_default();
        read_point::<Dynamic>(&self.employees, department, id).await
    }
}
