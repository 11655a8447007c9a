//! PT-07, PT-09: an entity that lists the employees with a last name, maintained in one transaction with them.

use lazuli_client::{Dynamic, ETag, Entity, Result, Table, TableService};

use super::shared::{fresh, read_point};

/// The employees with this last name.
#[derive(Clone, Debug, Default, Entity)]
#[table(rename_all = "PascalCase")]
struct Index {
    #[table(partition_key)]
    department: String,
    #[table(row_key)]
    last_name: String,
    #[table(json, default)]
    employees: Vec<String>,
}

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "IndexEntities").await?;
    for (id, name) in [("000152", "Jones"), ("000223", "Jones"), ("000010", "Smith")] {
        change(&table, id, None, Some(name)).await?;
    }
    assert_eq!(look_up(&table, "Jones").await?, ["000152", "000223"]);
    // Another client adds an employee named Jones after this one has read the list and before it writes it. The server
    // rejects the whole transaction. This client repeats it with the new list, so no employee is missing from the index.
    let tries = change_beside(&table, "000301", None, Some("Jones"), async || {
        change(&table, "000300", None, Some("Jones")).await.map(drop)
    });
    assert_eq!(tries.await?, 2);
    assert_eq!(look_up(&table, "Jones").await?, ["000152", "000223", "000300", "000301"]);
    // Two clients create the list of a new name: the second one finds it when it tries again.
    let tries = change_beside(&table, "000400", None, Some("Cao"), async || {
        change(&table, "000401", None, Some("Cao")).await.map(drop)
    });
    assert_eq!(tries.await?, 2);
    assert_eq!(look_up(&table, "Cao").await?, ["000401", "000400"]);
    // Leaving, and marrying: the employee and both lists change together, even if one of the lists changes meanwhile.
    assert_eq!(change(&table, "000152", Some("Jones"), None).await?, 1);
    let tries = change_beside(&table, "000223", Some("Jones"), Some("Smith"), async || {
        change(&table, "000011", None, Some("Smith")).await.map(drop)
    });
    assert_eq!(tries.await?, 2);
    assert_eq!(look_up(&table, "Jones").await?, ["000300", "000301"]);
    assert_eq!(look_up(&table, "Smith").await?, ["000010", "000011", "000223"]);
    assert!(table.try_get::<Dynamic>("Sales", "000152").await?.is_none());
    table.delete().await
}

/// PT-09: read the list, then one point per entry: one row more than found. A list beyond 1 MB belongs in a blob.
async fn look_up(table: &Table, last_name: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for id in read_point::<Index>(table, "Sales", &format!("index_{last_name}")).await?.employees {
        found.push(read_point::<Dynamic>(table, "Sales", &id).await?.row_key);
    }
    Ok(found)
}

async fn index(table: &Table, last_name: &str) -> Result<(Index, Option<ETag>)> {
    let key = format!("index_{last_name}");
    Ok(match table.try_get::<Index>("Sales", key.as_str()).await? {
        Some(found) => (found.value, Some(found.etag)),
        None => (Index { department: "Sales".into(), last_name: key, employees: Vec::new() }, None),
    })
}

fn put(batch: &mut lazuli_client::Batch, index: &Index, tag: Option<&ETag>) -> Result<()> {
    match tag {
        Some(tag) => batch.update_if(index, tag).map(drop),
        None => batch.insert(index).map(drop),
    }
}

/// Changes an employee and its lists. Returns how many times it tried.
async fn change(table: &Table, id: &str, from: Option<&str>, to: Option<&str>) -> Result<usize> {
    change_beside(table, id, from, to, async || Ok(())).await
}

/// The same; starts over if another client interfered. `rival` is such a client, which acts once, after the lists were read.
async fn change_beside(
    table: &Table,
    id: &str,
    from: Option<&str>,
    to: Option<&str>,
    rival: impl AsyncFnOnce() -> Result<()>,
) -> Result<usize> {
    const TRIES_MAX: usize = 10;
    let mut rival = Some(rival);
    for tries in 1..=TRIES_MAX {
        let mut batch = table.partition("Sales")?.batch();
        match to {
            Some(name) => batch.upsert(&Dynamic::new("Sales", id).with("LastName", name)?)?,
            None => batch.delete(id)?,
        };
        for (name, joins) in [(from, false), (to, true)] {
            let Some(name) = name else { continue };
            let (mut list, tag) = index(table, name).await?;
            list.employees.retain(|known| known != id);
            list.employees.extend(joins.then(|| id.to_owned()));
            put(&mut batch, &list, tag.as_ref())?;
        }
        if let Some(rival) = rival.take() {
            rival().await?;
        }
        match batch.execute().await {
            Err(error) if error.is_precondition_failed() || error.is_conflict() => {}
            done => return done.map(|_| tries),
        }
    }
    Err(lazuli_client::Error::input("too much contention"))
}
