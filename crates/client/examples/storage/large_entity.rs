//! PT-16: an entity with a photo that is larger than an entity may be. The photo is in a blob, its address in the entity.
//!
//! A photo never changes under its name: a new one gets a new name, so that readers of the old entity still find the
//! old blob. The blob is written before the entity refers to it, and the entity is deleted before the blob. A message
//! written before makes sure that no blob is left over, whichever step is the last one (PT-04). Entities are written and
//! deleted on condition that they still name the photo that the message is about.

use std::time::Duration;

use lazuli_client::{Dynamic, Error, Result, Table, Versioned};

use super::blob::Container;
use super::queue::Queue;
use super::services::Storage;
use super::shared::fresh;
use super::steps::{Steps, Work, complete, survive};

/// Longer than an upload takes, and than a reader takes from the entity to its photo: before that, the cleanup does not
/// check whether the blob is in use.
const UPLOAD_TIME: Duration = Duration::from_secs(60);
const HIDDEN: Duration = Duration::from_secs(30);
const UPLOAD_STEPS: u32 = 4;
const REMOVE_STEPS: u32 = 2;
const SWEEP_STEPS: u32 = 3;
const TRIES_MAX: usize = 10;
const PHOTO_BYTES: usize = 2 * 1024 * 1024;
const ID: &str = "000223";

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
    let mut employee = Dynamic::new("Sales", ID).with("LastName", "Jones")?;
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
        assert_eq!(album.photo(ID).await?, vec![expected; PHOTO_BYTES]);
        album.settle(storage).await?;
        assert_eq!(album.photos.list("").await?, [name(ID, expected)]);
        assert_eq!(album.photo(ID).await?, vec![expected; PHOTO_BYTES]);
    }
    a_slow_upload(storage, &album, &employee).await?;
    removals(storage, &album, &employee).await?;
    album.unsure.drop().await?;
    album.photos.drop().await?;
    album.employees.delete().await
}

/// Two uploads read the same entity. When the slower one writes it, the message for the blob of the faster one is gone: it was
/// read while the entity named that blob. So the slower one starts over, and leaves another message before it writes.
async fn a_slow_upload(storage: &Storage, album: &Album, employee: &Dynamic) -> Result<()> {
    let before = album.find(ID).await?;
    complete(album.upload(employee, 11, Steps::all()).await)?;
    album.settle(storage).await?;
    assert_eq!(album.photos.list("").await?, [name(ID, 11)]);
    complete(album.store(ID, 12, Steps::all()).await)?;
    assert_eq!(complete(album.refer(before, employee, 12, Steps::all()).await)?, 2, "it starts over once");
    album.settle(storage).await?;
    assert_eq!(album.photos.list("").await?, [name(ID, 12)]);
    assert_eq!(album.photo(ID).await?, vec![12; PHOTO_BYTES]);
    Ok(())
}

/// Deletes the entity before the blob: a reader that already has the entity can still fetch its photo, and no blob is orphaned.
async fn removals(storage: &Storage, album: &Album, employee: &Dynamic) -> Result<()> {
    for (crash_after, version) in (1..=REMOVE_STEPS).zip(20..) {
        complete(album.upload(employee, version, Steps::all()).await)?;
        let held = album.employees.get::<Dynamic>("Sales", ID).await?.value;
        assert!(survive(album.remove(ID, Steps::crash_after(crash_after)).await)?.is_none());
        assert_eq!(album.photo_of(&held).await?, vec![version; PHOTO_BYTES]);
        if crash_after < REMOVE_STEPS {
            // The entity is still there, so the photo stays until somebody deletes the entity.
            album.settle(storage).await?;
            assert_eq!(album.photo(ID).await?, vec![version; PHOTO_BYTES]);
            complete(album.remove(ID, Steps::all()).await)?;
            assert_eq!(album.photo_of(&held).await?, vec![version; PHOTO_BYTES]);
        }
        assert!(album.find(ID).await?.is_none());
        album.settle(storage).await?;
        assert_eq!(album.photos.list("").await?, [""; 0]);
        // A client that starts over after the last step has nothing left to do.
        complete(album.remove(ID, Steps::all()).await)?;
        assert_eq!(album.unsure.depth().await?, 0);
    }
    Ok(())
}

/// A name of its own for every version.
fn name(id: &str, version: u8) -> String {
    format!("Sales/{id}/{version}.jpg")
}

impl Album {
    async fn find(&self, id: &str) -> Result<Option<Versioned<Dynamic>>> {
        self.employees.try_get("Sales", id).await
    }

    async fn upload(&self, employee: &Dynamic, version: u8, steps: Steps) -> Work<()> {
        let id = employee.row_key.as_str();
        self.store(id, version, steps).await?;
        let before = self.find(id).await?;
        self.refer(before, employee, version, steps).await.map(drop)
    }

    /// Writes the blob, to which nothing refers yet.
    async fn store(&self, id: &str, version: u8, steps: Steps) -> Work<()> {
        let blob = name(id, version);
        self.unsure.put_hidden(&format!("{id} {blob}"), UPLOAD_TIME).await?;
        steps.done(1)?;
        self.photos.put(&blob, vec![version; PHOTO_BYTES], &[]).await?.expect(201)?;
        steps.done(2)
    }

    /// Writes the entity. Starts over if it is no longer the one that was read; returns the number of tries.
    async fn refer(
        &self,
        mut before: Option<Versioned<Dynamic>>,
        employee: &Dynamic,
        version: u8,
        steps: Steps,
    ) -> Work<usize> {
        let id = employee.row_key.as_str();
        let blob = name(id, version);
        let url = self.photos.url(&blob);
        let employee = employee.clone().with("PhotoName", blob)?.with("Photo", url)?;
        for tries in 1..=TRIES_MAX {
            // The message for the photo that is replaced comes before the replacement, or a crash would leave the blob behind.
            self.announce(id, before.as_ref()).await?;
            steps.done(3)?;
            let written = match &before {
                Some(found) => self.employees.update_if(&employee, &found.etag).await,
                None => self.employees.insert(&employee).await,
            };
            match written {
                Ok(_) => return steps.done(4).map(|()| tries),
                Err(error) if has_changed(&error) => before = self.find(id).await?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::input("too much contention").into())
    }

    /// Deletes the entity. Its photo is deleted later, by the cleanup.
    async fn remove(&self, id: &str, steps: Steps) -> Work<()> {
        for _ in 0..TRIES_MAX {
            let Some(found) = self.find(id).await? else { return Ok(()) };
            self.announce(id, Some(&found)).await?;
            steps.done(1)?;
            match self.employees.delete_entity_if("Sales", id, &found.etag).await {
                Ok(()) => return steps.done(2),
                // Perhaps it names another photo by now.
                Err(error) if has_changed(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::input("too much contention").into())
    }

    /// Leaves a message for the photo of an entity that is about to be replaced or deleted.
    async fn announce(&self, id: &str, before: Option<&Versioned<Dynamic>>) -> Result<()> {
        let photo = before.map(|found| found.value.get::<String>("PhotoName")).transpose()?.flatten();
        match photo {
            Some(photo) => self.unsure.put_hidden(&format!("{id} {photo}"), UPLOAD_TIME).await,
            None => Ok(()),
        }
    }

    /// Two reads: the entity, and the blob that it names.
    async fn photo(&self, id: &str) -> Result<Vec<u8>> {
        self.photo_of(&self.employees.get::<Dynamic>("Sales", id).await?.value).await
    }

    async fn photo_of(&self, employee: &Dynamic) -> Result<Vec<u8>> {
        let (name, url) = (employee.get::<String>("PhotoName")?, employee.get::<String>("Photo")?);
        let name = name.ok_or_else(|| Error::input("no photo"))?;
        assert_eq!(url, Some(self.photos.url(&name)));
        Ok(self.photos.get(&name, &[]).await?.expect(200)?.body().to_vec())
    }

    /// Everything that is not in use is deleted, even if the cleanup crashes.
    async fn settle(&self, storage: &Storage) -> Result<()> {
        storage.wait(UPLOAD_TIME).await;
        for crash_after in 1..=SWEEP_STEPS {
            if survive(self.sweep(Steps::crash_after(crash_after)).await)?.is_none() {
                storage.wait(HIDDEN).await;
            }
        }
        while complete(self.sweep(Steps::all()).await)? {}
        assert_eq!(self.unsure.depth().await?, 0);
        Ok(())
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

/// The entity is no longer the one that was read.
fn has_changed(error: &Error) -> bool {
    error.is_precondition_failed() || error.is_conflict() || error.is_not_found()
}
