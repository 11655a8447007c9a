//! A client's operations on the blob that has a tag.

use lazuli_probe::{Request, Response};

use super::block::value;
use super::{Chooser, changed};
use crate::blob::record::block::BLOBS;
use crate::blob::record::{Output, TagCall};
use crate::blob::soak::content;
use crate::caller::TrialCaller;

/// The object of the blob.
const OBJECT: usize = BLOBS + 2;
/// Values of the tag: few, so that conditions are often met.
pub(super) const TAGS: u32 = 4;
/// Its name. No name of another blob starts with it.
const NAME: &str = "tagged";

impl Chooser {
    pub(super) fn choose_tag(&mut self) -> TagCall {
        let (some, new) = (self.tag(), self.tag());
        let tag = self.random.chance(50).then_some(some);
        match self.random.below(20) {
            0..2 => TagCall::Get { tag },
            2..5 => TagCall::GetTag,
            5..9 => TagCall::Find { tag: some },
            9..13 => {
                let (number, condition) = (self.next_number(), self.condition(OBJECT));
                let new = self.random.chance(80).then_some(new);
                TagCall::Put { number, new, condition, tag: tag.filter(|_| self.random.chance(40)) }
            }
            13..19 => TagCall::SetTag { new, tag },
            _ => TagCall::Delete { tag },
        }
    }

    fn tag(&mut self) -> u32 {
        self.random.below(TAGS as usize) as u32
    }

    pub(super) fn tag_request(&self, caller: &TrialCaller, call: &TagCall, object: usize) -> Request {
        let path = self.path(NAME);
        let tags = format!("{path}?comp=tags");
        match call {
            TagCall::Get { tag } => demanding(caller.request("GET", &path), *tag),
            TagCall::GetTag => caller.request("GET", &tags),
            TagCall::Find { tag } => {
                let query = format!("?restype=container&comp=blobs&where=n%3D%27{tag}%27");
                caller.request("GET", &format!("/{}{query}", self.container))
            }
            TagCall::Put { number, new, condition, tag } => {
                let request = caller.request("PUT", &path).with("x-ms-blob-type", "BlockBlob");
                let request = match new {
                    Some(new) => request.with("x-ms-tags", format!("n={new}")),
                    None => request,
                };
                let request = self.under(request.body(content(u64::from(*number))), object, *condition);
                demanding(request, *tag)
            }
            TagCall::SetTag { new, tag } => {
                let body =
                    format!("<Tags><TagSet><Tag><Key>n</Key><Value>{new}</Value></Tag></TagSet></Tags>");
                let request = caller.request("PUT", &tags).with("Content-Type", "application/xml");
                demanding(request.body(body), *tag)
            }
            TagCall::Delete { tag } => demanding(caller.request("DELETE", &path), *tag),
        }
    }

    pub(super) fn tag_output(
        &mut self,
        call: &TagCall,
        object: usize,
        response: &Response,
    ) -> Result<Option<Output>, String> {
        Ok(match (call, response.status) {
            (TagCall::Get { .. }, 200) => {
                let value = value(&response.body)?;
                self.learn(object, value, response);
                Some(Output::Value(Some(value)))
            }
            (TagCall::Get { .. }, 404) => Some(Output::Value(None)),
            (TagCall::Get { .. }, 412) => Some(Output::Rejected),
            (TagCall::GetTag, 200) => tag_in(&response.text()).map(|tag| Output::Tag(Some(tag))),
            (TagCall::GetTag, 404) => Some(Output::Tag(None)),
            (TagCall::Find { .. }, 200) => {
                Some(Output::Found(response.text().contains(&format!("<Name>{NAME}</Name>"))))
            }
            (TagCall::Get { .. } | TagCall::GetTag | TagCall::Find { .. }, _) => None,
            (TagCall::Put { number, .. }, 201) => {
                self.learn(object, *number, response);
                Some(Output::Applied)
            }
            _ => changed(response),
        })
    }
}

/// A request with a condition on a tag.
fn demanding(request: Request, tag: Option<u32>) -> Request {
    match tag {
        Some(tag) => request.with("x-ms-if-tags", format!("n='{tag}'")),
        None => request,
    }
}

/// The tag in a list of tags, if it has one; `None` if the list is invalid.
fn tag_in(list: &str) -> Option<Option<u32>> {
    if !list.contains("<TagSet") {
        return None;
    }
    match list.split_once("<Value>") {
        None => Some(None),
        Some((_, rest)) => rest.split('<').next()?.parse().ok().map(Some),
    }
}
