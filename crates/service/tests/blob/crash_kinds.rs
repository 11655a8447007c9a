//! The scripts of append and page blobs, and of copies in the background, that are stopped after every call.

use bytes::Bytes;
use lazuli_model::blob::Outcome;
use lazuli_model::blob::copy::CopyStatus;
use lazuli_model::blob::operation::{BlobAction, Revision};
use lazuli_model::blob::write::DeleteSnapshots;
use lazuli_model::{ErrorCode, Guid};

use crate::appends::{copy_of, source};
use crate::crash::{Crash, Run};
use crate::world::{CONTAINER, blob, bytes_of, code, with};

const PAGE: usize = 512;

impl Run {
    /// The state of a blob that is not in doubt.
    fn content(&self, name: &str) -> Bytes {
        self.expected[name][0].clone().unwrap_or_default()
    }

    async fn create_append(&mut self, name: &'static str) -> Crash {
        self.may_become(name, Some(Bytes::new()));
        self.world.create_append(name).await?;
        self.has_become(name, Some(Bytes::new()));
        Ok(())
    }

    async fn append(&mut self, name: &'static str, bytes: Bytes) -> Crash {
        let content = Bytes::from([self.content(name), bytes.clone()].concat());
        self.may_become(name, Some(content.clone()));
        self.world.append(name, bytes).await?;
        self.has_become(name, Some(content));
        Ok(())
    }

    async fn copy(
        &mut self,
        from: &'static str,
        revision: Revision,
        to: &'static str,
        content: Bytes,
    ) -> Crash {
        self.may_become(to, Some(content.clone()));
        let copy = blob(to, copy_of(source(from, revision)));
        self.world.run_local(copy).await?;
        self.has_become(to, Some(content));
        Ok(())
    }

    /// Begins a copy that continues in the background. Until it is complete, the destination is empty.
    async fn begin_copy(&mut self, from: &'static str, to: &'static str) -> Result<Guid, ErrorCode> {
        self.may_become(to, Some(Bytes::new()));
        self.may_become(to, Some(self.content(from)));
        let copy = blob(to, copy_of(source(from, Revision::Current)));
        let Outcome::Copied { id, status: CopyStatus::Pending, .. } = self.world.run_local(copy).await?
        else {
            panic!("the copy is not pending")
        };
        Ok(id)
    }

    async fn end_copies(&mut self, to: &'static str, content: Bytes) -> Crash {
        let mut copies = self.world.blobs.copies();
        while copies.round().await.map_err(code)? {}
        self.has_become(to, Some(content));
        Ok(())
    }

    async fn copy_later(&mut self, from: &'static str, to: &'static str) -> Crash {
        self.begin_copy(from, to).await?;
        self.end_copies(to, self.content(from)).await
    }

    /// Copies in the background: of every kind, over older content, from a source that changes, and aborted ones.
    pub async fn pending_script(&mut self) -> Crash {
        self.world.create_container(CONTAINER).await?;
        self.stage("blocks", 0..3, 100).await?;
        self.commit("blocks", &[0, 1, 2, 1], 100).await?;
        self.copy_later("blocks", "copy").await?;
        self.sweep().await?;
        self.put("whole", bytes_of(1, 100)).await?;
        self.copy_later("whole", "copy").await?;
        self.sweep().await?;
        self.begin_copy("whole", "copy").await?;
        self.put("whole", bytes_of(2, 100)).await?;
        self.end_copies("copy", Bytes::new()).await?;
        let id = self.begin_copy("blocks", "copy").await?;
        self.world.on("copy", BlobAction::AbortCopy(id)).await?;
        self.end_copies("copy", Bytes::new()).await?;
        self.sweep().await?;
        self.create_append("log").await?;
        self.append("log", bytes_of(3, 100)).await?;
        self.append("log", bytes_of(4, 15)).await?;
        self.copy_later("log", "log copy").await?;
        self.create_pages("pages", 100).await?;
        self.change_pages("pages", 10, 60, 1).await?;
        self.copy_later("pages", "page copy").await?;
        self.sweep().await
    }

    async fn delete_first_snapshot(&mut self, name: &'static str) -> Crash {
        let (_, revision, _) = self.snapshots.remove(0);
        let delete = BlobAction::Delete { snapshots: DeleteSnapshots::Unspecified, is_permanent: false };
        let operation = with(blob(name, delete), |request| request.revision = revision);
        self.world.run(operation).await.map(drop)
    }

    /// Small appends and large ones, folds, snapshots, copies, an overwrite.
    pub async fn append_script(&mut self) -> Crash {
        self.world.create_container(CONTAINER).await?;
        self.create_append("log").await?;
        for (n, length) in [10, 19, 20, 100, 15, 20, 20, 5].into_iter().enumerate() {
            self.append("log", bytes_of(n as u64, length)).await?;
        }
        self.snapshot("log").await?;
        self.sweep().await?;
        for n in 0..7 {
            self.append("log", bytes_of(n + 20, 18)).await?;
        }
        self.copy("log", Revision::Current, "copy", self.content("log")).await?;
        self.append("copy", bytes_of(40, 30)).await?;
        let (_, snapshot, content) = self.snapshots[0].clone();
        self.copy("log", snapshot, "log", content).await?;
        self.sweep().await?;
        self.append("log", bytes_of(41, 90)).await?;
        self.delete_first_snapshot("log").await?;
        self.sweep().await?;
        self.put("log", bytes_of(50, 100)).await?;
        self.delete("copy", DeleteSnapshots::Unspecified).await?;
        self.sweep().await
    }

    async fn change_pages(&mut self, name: &'static str, first: usize, count: usize, byte: u8) -> Crash {
        let mut content = self.content(name).to_vec();
        content[first * PAGE..(first + count) * PAGE].fill(byte);
        let content = Bytes::from(content);
        self.may_become(name, Some(content.clone()));
        let offset = (first * PAGE) as u64;
        if byte == 0 {
            self.world.clear_page(name, offset, (count * PAGE) as u64).await?;
        } else {
            self.world.put_page(name, offset, vec![byte; count * PAGE]).await?;
        }
        self.has_become(name, Some(content));
        Ok(())
    }

    async fn resize(&mut self, name: &'static str, count: usize) -> Crash {
        let mut content = self.content(name).to_vec();
        content.resize(count * PAGE, 0);
        self.may_become(name, Some(content.clone().into()));
        self.world.resize(name, (count * PAGE) as u64).await?;
        self.has_become(name, Some(content.into()));
        Ok(())
    }

    async fn create_pages(&mut self, name: &'static str, count: usize) -> Crash {
        let content = Bytes::from(vec![0; count * PAGE]);
        self.may_become(name, Some(content.clone()));
        self.world.create_pages(name, (count * PAGE) as u64).await?;
        self.has_become(name, Some(content));
        Ok(())
    }

    /// Writes, clears, sizes, snapshots that come and go, copies, an overwrite.
    pub async fn page_script(&mut self) -> Crash {
        self.world.create_container(CONTAINER).await?;
        self.create_pages("pages", 100).await?;
        self.change_pages("pages", 10, 60, 1).await?;
        self.change_pages("pages", 40, 5, 0).await?;
        self.snapshot("pages").await?;
        self.change_pages("pages", 30, 20, 2).await?;
        self.resize("pages", 35).await?;
        self.resize("pages", 80).await?;
        self.world.pass(1);
        self.snapshot("pages").await?;
        self.change_pages("pages", 33, 4, 3).await?;
        self.sweep().await?;
        self.copy("pages", Revision::Current, "copy", self.content("pages")).await?;
        let (_, snapshot, content) = self.snapshots[0].clone();
        self.copy("pages", snapshot, "old", content).await?;
        self.delete_first_snapshot("pages").await?;
        self.sweep().await?;
        self.change_pages("pages", 0, 2, 4).await?;
        self.create_pages("copy", 3).await?;
        self.sweep().await?;
        self.delete("pages", DeleteSnapshots::Only).await?;
        self.sweep().await?;
        self.put("old", bytes_of(1, 100)).await?;
        self.delete("pages", DeleteSnapshots::Unspecified).await?;
        self.sweep().await
    }
}
