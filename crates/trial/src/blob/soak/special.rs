//! The blobs of a worker that are not plain block blobs: append and page blobs, blobs with a tag, with
//! versions, deleted ones, and in different tiers. Every response must be the one that the model of the
//! histories predicts.

use lazuli_probe::Request;

use crate::blob::client::{Chooser, special_reads};
use crate::blob::record::{BlobCall, BlobModel, Output};
use crate::linear::HistoryOperation as _;
use crate::random::Random;
use crate::soak::Link;

/// The worker's knowledge about these blobs.
pub(super) struct Special {
    container: String,
    chooser: Chooser,
    model: BlobModel,
}

impl Special {
    /// The blobs in a container.
    pub(super) fn new(container: String, random: Random) -> Self {
        Self { chooser: Chooser::new(container.clone(), 0, random), container, model: BlobModel::default() }
    }

    /// Executes an operation on one of them.
    pub(super) async fn step(&mut self, link: &mut Link) -> Result<(), String> {
        let call = self.chooser.choose_special();
        let (next, expected) = call.apply(&self.model);
        let request = self.request(link, &call);
        match link.send(request).await? {
            Some(response) => {
                let found = self.chooser.output(&call, &response)?;
                if found != expected {
                    return Err(self.wrong(&call, &found, &expected));
                }
                link.checked(1);
                self.model = next;
                Ok(())
            }
            None if call.is_read() => Ok(()),
            None => self.settle(link, &call, next).await,
        }
    }

    /// Reads all of them.
    pub(super) async fn check(&mut self, link: &mut Link) -> Result<(), String> {
        for read in special_reads() {
            let (_, expected) = read.apply(&self.model);
            let found = self.read(link, &read).await?;
            if found != expected {
                return Err(self.wrong(&read, &found, &expected));
            }
        }
        Ok(())
    }

    /// The response to a change was lost: reads determine its outcome.
    async fn settle(&mut self, link: &mut Link, call: &BlobCall, next: BlobModel) -> Result<(), String> {
        // A change may show in nothing but the ETag.
        self.chooser.forget(call.object());
        let mut found = Vec::new();
        for read in special_reads().filter(|read| read.object() == call.object()) {
            let output = self.read(link, &read).await?;
            found.push((read, output));
        }
        self.model = settled(&self.model, next, &found).ok_or_else(|| {
            format!("{}: {:?}, but after a lost {call:?} reads found {found:?}", self.container, self.model)
        })?;
        Ok(())
    }

    async fn read(&mut self, link: &mut Link, read: &BlobCall) -> Result<Output, String> {
        loop {
            let request = self.request(link, read);
            if let Some(response) = link.send(request).await? {
                link.checked(1);
                return self.chooser.output(read, &response);
            }
        }
    }

    fn request(&self, link: &Link, call: &BlobCall) -> Request {
        self.chooser.request(&link.caller, call)
    }

    fn wrong(&self, call: &BlobCall, found: &Output, expected: &Output) -> String {
        let (container, model) = (&self.container, &self.model);
        format!("{container}: {call:?} got {found:?}, expected {expected:?}; before: {model:?}")
    }
}

/// The state after a lost change, determined by reads: the one before or the one after it. `None` if it is
/// neither.
fn settled(before: &BlobModel, after: BlobModel, found: &[(BlobCall, Output)]) -> Option<BlobModel> {
    let fits = |model: &BlobModel| found.iter().all(|(read, output)| read.apply(model).1 == *output);
    // If both fit, they differ only in the ETag, which is unknown.
    [after, before.clone()].into_iter().find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::record::{AppendCall, BlobCondition};

    fn append(number: u32) -> BlobCall {
        let condition = BlobCondition::None;
        BlobCall::Append(AppendCall::Append { number, condition, position: None, size_max: None })
    }

    /// The reads of a model.
    fn shown(model: &BlobModel) -> Vec<(BlobCall, Output)> {
        special_reads().map(|read| (read.clone(), read.apply(model).1)).collect()
    }

    #[test]
    fn a_lost_append_is_there_once_or_not_at_all() {
        let create = BlobCall::Append(AppendCall::Create { number: 1, condition: BlobCondition::Absent });
        let (empty, _) = create.apply(&BlobModel::default());
        let (once, _) = append(2).apply(&empty);
        let (twice, _) = append(2).apply(&once);
        for there in [&empty, &once] {
            assert_eq!(settled(&empty, once.clone(), &shown(there)).as_ref(), Some(there));
        }
        for wrong in [&twice, &BlobModel::default()] {
            assert_eq!(settled(&empty, once.clone(), &shown(wrong)), None);
        }
    }
}
