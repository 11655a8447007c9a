//! CS-07: the worker of the whitepaper that deletes a channel and all its blogs. First it marks the channel, so that nobody
//! reads it any more; then it deletes the blogs, a hundred at a time; then the channel, and last the message.
//!
//! Deleting takes longer than the message stays hidden, so the worker hides it again before each batch.

use std::time::Duration;

use lazuli_client::{Dynamic, Result, Table, keys, partition_key};

use super::queue::Queue;
use super::services::Storage;
use super::shared::fresh;
use super::steps::{Steps, Work, complete, survive};

const HIDDEN: Duration = Duration::from_secs(30);
const BLOGS: u64 = 250;
const BATCH_MAX: usize = 100;
/// Get, mark, three batches, channel, message.
const STEPS: u32 = 7;

struct Site {
    channels: Table,
    blogs: Table,
    queue: Queue,
}

pub async fn run(storage: &Storage) -> Result<()> {
    for crash_after in 1..=STEPS {
        let site = Site {
            channels: fresh(&storage.tables, "Channels").await?,
            blogs: fresh(&storage.tables, "Blogs").await?,
            // The whitepaper calls it `DeleteChannelAndBlogs`; names of queues are in lower case.
            queue: storage.fresh_queue("deletechannelandblogs").await?,
        };
        site.fill("Football").await?;
        site.fill("Gardening").await?;
        site.queue.put("Football").await?;
        assert!(survive(site.work(Steps::crash_after(crash_after)).await)?.is_none());
        // Readers see the whole channel or nothing of it, however far the worker got.
        let visible = site.read("Football").await?;
        assert_eq!(visible, (crash_after == 1).then_some(BLOGS), "after step {crash_after}");

        storage.wait(HIDDEN).await;
        assert_eq!(complete(site.work(Steps::all()).await)?, crash_after < STEPS);
        assert_eq!(site.blogs.query::<Dynamic>().filter(partition_key().eq("Football")).count().await?, 0);
        assert!(site.channels.try_get::<Dynamic>("Football", "").await?.is_none());
        assert_eq!(site.queue.depth().await?, 0);
        assert_eq!(site.read("Gardening").await?, Some(BLOGS), "another channel is untouched");
        println!("channels: consistent if the worker crashes after step {crash_after}");
        site.channels.delete().await?;
        site.blogs.delete().await?;
        site.queue.drop().await?;
    }
    Ok(())
}

impl Site {
    /// The table Channels has one entity per channel, with an empty RowKey; its blogs are one partition of Blogs.
    async fn fill(&self, channel: &str) -> Result<()> {
        self.channels.insert(&Dynamic::new(channel, "").with("IsValid", true)?).await?;
        let blogs = (0..BLOGS).map(|n| Ok(Dynamic::new(channel, keys::padded(n, 6)?)));
        for part in blogs.collect::<Result<Vec<_>>>()?.chunks(BATCH_MAX) {
            let mut batch = self.blogs.partition(channel)?.batch();
            part.iter().try_for_each(|blog| batch.insert(blog).map(drop))?;
            batch.execute().await?;
        }
        Ok(())
    }

    /// The number of blogs of a channel, if there is such a channel.
    async fn read(&self, channel: &str) -> Result<Option<u64>> {
        let found = self.channels.try_get::<Dynamic>(channel, "").await?;
        if found.map(|found| found.value.get::<bool>("IsValid")).transpose()?.flatten() != Some(true) {
            return Ok(None);
        }
        let blogs = self.blogs.query::<Dynamic>().filter(partition_key().eq(channel)).count().await?;
        Ok(Some(blogs))
    }

    async fn work(&self, steps: Steps) -> Work<bool> {
        let Some(mut message) = self.queue.get(HIDDEN).await? else { return Ok(false) };
        let channel = message.text.clone();
        steps.done(1)?;
        match self.channels.merge(&Dynamic::new(channel.as_str(), "").with("IsValid", false)?).await {
            // It is gone, so a worker before this one crashed just before it could delete the message.
            Err(error) if error.is_not_found() => {}
            other => drop(other?),
        }
        steps.done(2)?;
        let mut step = 2;
        loop {
            let blogs = self.blogs.query::<Dynamic>().filter(partition_key().eq(channel.as_str()));
            let part = blogs.select(["RowKey"]).take(BATCH_MAX as u64).collect().await?;
            if part.is_empty() {
                break;
            }
            // With a new receipt: the old one is invalid from here on.
            self.queue.extend(&mut message, HIDDEN).await?;
            let mut batch = self.blogs.partition(channel.as_str())?.batch();
            part.iter().try_for_each(|blog| batch.delete(blog.row_key.as_str()).map(drop))?;
            batch.execute().await?;
            step += 1;
            steps.done(step)?;
        }
        self.channels.delete_entity_if_exists(channel.as_str(), "").await?;
        steps.done(6)?;
        self.queue.delete(&message).await?;
        steps.done(7)?;
        Ok(true)
    }
}
