//! Options of a save.

/// How pending changes are sent.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Context, Dynamic, SaveMode, SaveOptions};
///
/// let blogs = service.create_table("Blogs").await?;
/// let mut context = Context::new(&service);
/// for (channel, post) in [("Channel8", "a"), ("Channel9", "a"), ("Channel8", "b")] {
///     context.add(&blogs, Dynamic::new(channel, post))?;
/// }
/// // Two requests: one per channel.
/// let saved = context.save_with(SaveOptions { mode: SaveMode::Batches, ..SaveOptions::default() }).await?;
/// assert_eq!(saved, 3);
/// # Ok(()) })
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SaveMode {
    /// Each change separately, in order.
    #[default]
    Each,
    /// All changes atomically: they must be in one partition and fit into one batch (TX-22).
    OneBatch,
    /// Changes of the same table and partition together, up to the limits of a batch; batches are sent in the
    /// order of their first changes (FW-05). Each batch is atomic; the save is not.
    Batches,
}

/// Options of a save.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Context, Dynamic, SaveOptions};
///
/// let blogs = service.create_table("Blogs").await?;
/// blogs.insert(&Dynamic::new("Channel9", "a")).await?;
/// let mut context = Context::new(&service);
/// context.add(&blogs, Dynamic::new("Channel9", "a"))?;
/// let second = context.add(&blogs, Dynamic::new("Channel9", "b"))?;
/// // The first change fails; the second is saved nevertheless.
/// let options = SaveOptions { continue_on_error: true, ..SaveOptions::default() };
/// assert_eq!(context.save_with(options).await.unwrap_err().saved, 1);
/// assert!(context.etag(second)?.is_some());
/// # Ok(()) })
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaveOptions {
    /// Replace changed entities instead of merging them.
    pub replace: bool,
    /// How changes are grouped.
    pub mode: SaveMode,
    /// Continue with the other changes when one has failed.
    pub continue_on_error: bool,
}
