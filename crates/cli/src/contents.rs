//! Opens the object store with the content of a database, and ensures that the two belong together.

use std::sync::Arc;

use lazuli_engine::{Clock, Content, Engine, Error};
use lazuli_objects::{Bucket, ObjectContent, ObjectsUrl, WithContent};
use lazuli_postgres::Postgres;

/// An engine with its rows in a database and its content in an object store.
pub async fn attach(rows: Postgres, url: &ObjectsUrl) -> Result<Arc<dyn Engine>, String> {
    match marked(&rows, url).await {
        Ok(content) => Ok(Arc::new(WithContent::new(Arc::new(rows), content))),
        Err(error) => {
            // Otherwise its slot would stay taken for a while.
            let _ = rows.close().await;
            Err(error)
        }
    }
}

/// The content of a database that is being filled.
pub async fn of_filler(rows: &Postgres, url: &ObjectsUrl) -> Result<Arc<dyn Content>, String> {
    Ok(Arc::new(marked(rows, url).await?))
}

/// The content of a database that has content in an object store. Nothing is written.
pub async fn existing(rows: &Postgres, url: &ObjectsUrl) -> Result<Arc<dyn Content>, String> {
    let bucket = Bucket::connect(url, Clock::system())?;
    let found = bucket.number().await.map_err(|error| format!("{url}: {error}"))?;
    let known = rows.object_store().await.map_err(|error| error.to_string())?;
    match known {
        None => Err("the content of this database is not in an object store".into()),
        Some(_) if found != known => Err(format!("{url}: the content of this database is not in the bucket")),
        Some(_) => Ok(Arc::new(ObjectContent::new(bucket, rows.ledger()))),
    }
}

/// The database and the bucket store the same number. The first front end of a new database writes it to both.
async fn marked(rows: &Postgres, url: &ObjectsUrl) -> Result<ObjectContent, String> {
    let shown = |error: Error| format!("{url}: {error}");
    let bucket = Bucket::connect(url, Clock::system())?;
    let found = bucket.number().await.map_err(shown)?;
    let known = rows.object_store().await.map_err(|error| error.to_string())?;
    if known.is_none() && found.is_some() {
        return Err(format!(
            "{url}: the bucket holds the content of another database; choose another prefix"
        ));
    }
    let number = rows.mark_objects().await.map_err(|error| error.to_string())?;
    let is_empty = rows.ledger().live().await.map_err(|error| error.to_string())? == 0;
    let marked = match found {
        Some(found) => found,
        // This is the first start, or an earlier one was interrupted before it marked the bucket.
        None if is_empty => bucket.mark(number).await.map_err(shown)?,
        None => return Err(format!("{url}: the content of this database is not in the bucket")),
    };
    if marked != number {
        return Err(format!("{url}: the bucket holds the content of another database"));
    }
    Ok(ObjectContent::new(bucket, rows.ledger()))
}
