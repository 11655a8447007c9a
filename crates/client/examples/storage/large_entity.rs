//! PT-16: an entity with a photo that is larger than an entity may be. The photo is in a blob, its address in the entity.
//!
//! A photo never changes under its name: a new one gets a new name, so that whoever read the entity finds the blob. The blob
//! is written before the entity refers to it, and a message written before both makes sure that no blob is left over,
//! whichever step is the last one (PT-04).

use std::time::Duration;

use lazuli_client::{Dynamic, Error, Result, Table};

use super::blob::Container;
use super::queue::Queue;
use super::services::Storage;
use super::shared::fresh;
use super::steps::{Steps, Work, complete, survive};

/// Longer than an upload takes: before that, the cleanup does not check whether the blob is in use.
const UPLOAD_TIME: Duration = Duration::from_secs(60);
const HIDDEN: Duration = Duration::from_secs(30);
const UPLOAD_STEPS: u32 = 4;
const SWEEP_STEPS: u32 = 3;
const PHOTO_BYTES: usize = 2 * 1024 * 1024;

struct Album {
    employees: Table,
    photos: Container,
    unsure: Queue,
}

pub async fn run(storage: &Storage) -> Result<()> {
    let album = Album {
        employees: fresh(&storage.tables, "WithPhotos").await?,
        photos: storage.fresh_container("photos").await?,
        unsure: storage.fresh_queue("photos-unsure").await?,
    };
    let mut employee = Dynamic::new("Sales", "000223").with("LastName", "Jones")?;
    assert!(employee.set("Photo", vec![0_u8; PHOTO_BYTES]).is_err(), "too large for a property");

    assert!(complete(album.upload(&employee, 0, Steps::all()).await).is_ok());
    let mut expected = 0;
    for crash_after in 1..=UPLOAD_STEPS {
        let version = u8::try_from(crash_after).unwrap_or(0);
        assert!(survive(album.upload(&employee, version, Steps::crash_after(crash_after)).await)?.is_none());
        // Until the entity has the new address, readers find the old photo; after that the new one.
        if crash_after == UPLOAD_STEPS {
            expected = version;
        }
        assert_eq!(album.photo("000223").await?, vec![expected; PHOTO_BYTES]);
        // Everything that is not in use goes, also when the sweeper crashes.
        storage.wait(UPLOAD_TIME).await;
        for crash_after in 1..=SWEEP_STEPS {
            if survive(album.sweep(Steps::crash_after(crash_after)).await)?.is_none() {
                storage.wait(HIDDEN).await;
            }
        }
        while complete(album.sweep(Steps::all()).await)? {}
        assert_eq!(album.photos.list("").await?, [name("000223", expected)]);
        assert_eq!(album.unsure.depth().await?, 0);
        assert_eq!(album.photo("000223").await?, vec![expected; PHOTO_BYTES]);
    }
    album.unsure.drop().await?;
    album.photos.drop().await?;
    album.employees.delete().await
}

/// A name of its own for every version.
fn name(id: &str, version: u8) -> String {
    format!("Sales/{id}/{version}.jpg")
}

impl Album {
    async fn upload(&self, employee: &Dynamic, version: u8, steps: Steps) -> Work<()> {
        let id = employee.row_key.as_str();
        let blob = name(id, version);
        let before = self.employees.try_get::<Dynamic>("Sales", id).await?;
        self.unsure.put_hidden(&format!("{id} {blob}"), UPLOAD_TIME).await?;
        steps.done(1)?;
        self.photos.put(&blob, vec![version; PHOTO_BYTES], &[]).await?.expect(201)?;
        steps.done(2)?;
        // The message for the photo that is replaced comes before the replacement, or a crash would leave the blob behind.
        if let Some(old) = before.map(|found| found.value.get::<String>("PhotoName")).transpose()?.flatten() {
            self.unsure.put_hidden(&format!("{id} {old}"), UPLOAD_TIME).await?;
        }
        steps.done(3)?;
        let (url, employee) = (self.photos.url(&blob), employee.clone());
        self.employees.upsert(&employee.with("PhotoName", blob)?.with("Photo", url)?).await?;
        steps.done(4)
    }

    /// Two reads: the entity, and the blob that it names.
    async fn photo(&self, id: &str) -> Result<Vec<u8>> {
        let employee = self.employees.get::<Dynamic>("Sales", id).await?.value;
        let (name, url) = (employee.get::<String>("PhotoName")?, employee.get::<String>("Photo")?);
        let name = name.ok_or_else(|| Error::input("no photo"))?;
        assert_eq!(url, Some(self.photos.url(&name)));
        Ok(self.photos.get(&name, &[]).await?.expect(200)?.body().to_vec())
    }

    /// Deletes a blob that nothing refers to. `false` if there is no message.
    async fn sweep(&self, steps: Steps) -> Work<bool> {
        let Some(message) = self.unsure.get(HIDDEN).await? else { return Ok(false) };
        steps.done(1)?;
        let (id, blob) = message.text.split_once(' ').ok_or_else(|| Error::input("not a photo"))?;
        let employee = self.employees.try_get::<Dynamic>("Sales", id).await?;
        let used = employee.map(|found| found.value.get::<String>("PhotoName")).transpose()?.flatten();
        if used.as_deref() != Some(blob) {
            let deleted = self.photos.delete(blob, &[]).await?;
            assert!(matches!(deleted.status(), 202 | 404), "deleted now, or before a crash");
        }
        steps.done(2)?;
        self.unsure.delete(&message).await?;
        steps.done(3)?;
        Ok(true)
    }
}
