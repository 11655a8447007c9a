//! A client's operations on the page blob.

use lazuli_probe::{Request, Response};

use super::{Chooser, changed, numeric};
use crate::blob::record::block::BLOBS;
use crate::blob::record::page::{
    PAGE_BYTES, PAGES, PageCall, PagesView, SequenceChange, SequenceCondition, page, pages,
};
use crate::blob::record::{BlobCondition, Output};
use crate::caller::TrialCaller;

/// The object of the page blob.
const OBJECT: usize = BLOBS + 1;
/// Sequence numbers of conditions and changes: few, so that conditions are often met.
const SEQUENCE_MAX: usize = 6;
/// The first page of the second row on the server: most writes are near it.
const BORDER: usize = 32;

impl Chooser {
    pub(super) fn choose_page(&mut self) -> PageCall {
        match self.random.below(20) {
            0..3 => PageCall::Get,
            3 => PageCall::Ranges,
            4 => PageCall::Sequence,
            5..7 => {
                let number = self.next_number();
                let condition =
                    if self.random.chance(80) { BlobCondition::Absent } else { self.condition(OBJECT) };
                PageCall::Create { number, condition, sequence: self.sequence() }
            }
            7..17 => {
                let number = self.next_number();
                let first = BORDER - 4 + self.random.below(8);
                let end = (first + 1 + self.random.below(6)).min(PAGES);
                // The server replaces a cell that is written completely without reading it.
                let (first, end) = if self.random.chance(15) { (0, end.max(BORDER)) } else { (first, end) };
                let condition = if self.random.chance(20) {
                    self.condition_of_existing(OBJECT)
                } else {
                    BlobCondition::None
                };
                let sequence = match self.random.below(6) {
                    0 => SequenceCondition::AtMost(self.sequence()),
                    1 => SequenceCondition::Below(self.sequence()),
                    2 => SequenceCondition::Is(self.sequence()),
                    _ => SequenceCondition::None,
                };
                PageCall::Write { number, first, end, clears: self.random.chance(25), condition, sequence }
            }
            17..19 => {
                let change = match self.random.below(3) {
                    0 => SequenceChange::Update(self.sequence()),
                    1 => SequenceChange::Max(self.sequence()),
                    _ => SequenceChange::Increment,
                };
                let (number, condition) = (self.next_number(), self.condition_of_existing(OBJECT));
                PageCall::SetSequence { number, change, condition }
            }
            _ => PageCall::Delete { condition: self.condition_of_existing(OBJECT) },
        }
    }

    fn sequence(&mut self) -> u64 {
        self.random.below(SEQUENCE_MAX) as u64
    }

    pub(super) fn page_request(&self, caller: &TrialCaller, call: &PageCall, object: usize) -> Request {
        let path = self.path("page");
        let put = |query: &str| caller.request("PUT", &format!("{path}{query}"));
        match call {
            PageCall::Get => caller.request("GET", &path),
            PageCall::Ranges => caller.request("GET", &format!("{path}?comp=pagelist")),
            PageCall::Sequence => caller.request("HEAD", &path),
            PageCall::Create { number, condition, sequence } => {
                let request = put("")
                    .with("x-ms-blob-type", "PageBlob")
                    .with("x-ms-blob-content-length", (PAGES * PAGE_BYTES).to_string())
                    .with("x-ms-blob-sequence-number", sequence.to_string())
                    .with("x-ms-meta-created", number.to_string());
                self.under(request, object, *condition)
            }
            PageCall::Write { number, first, end, clears, condition, sequence } => {
                let range = format!("bytes={}-{}", first * PAGE_BYTES, end * PAGE_BYTES - 1);
                let request = put("?comp=page").with("x-ms-range", range);
                let request = if *clears {
                    request.with("x-ms-page-write", "clear")
                } else {
                    let body: Vec<u8> = (*first..*end).flat_map(|at| page(*number, at)).collect();
                    request.with("x-ms-page-write", "update").body(body)
                };
                let request = match sequence {
                    SequenceCondition::None => request,
                    SequenceCondition::AtMost(bound) => {
                        request.with("x-ms-if-sequence-number-le", bound.to_string())
                    }
                    SequenceCondition::Below(bound) => {
                        request.with("x-ms-if-sequence-number-lt", bound.to_string())
                    }
                    SequenceCondition::Is(number) => {
                        request.with("x-ms-if-sequence-number-eq", number.to_string())
                    }
                };
                self.under(request, object, *condition)
            }
            PageCall::SetSequence { change, condition, .. } => {
                let request = put("?comp=properties");
                let (action, number) = match change {
                    SequenceChange::Increment => ("increment", None),
                    SequenceChange::Update(number) => ("update", Some(number)),
                    SequenceChange::Max(number) => ("max", Some(number)),
                };
                let request = request.with("x-ms-sequence-number-action", action);
                let request = match number {
                    Some(number) => request.with("x-ms-blob-sequence-number", number.to_string()),
                    None => request,
                };
                self.under(request, object, *condition)
            }
            PageCall::Delete { condition } => self.under(caller.request("DELETE", &path), object, *condition),
        }
    }

    /// A read does not return the ETag of the pages, since it returns each page as it is when the read reaches
    /// it.
    pub(super) fn page_output(
        &mut self,
        call: &PageCall,
        object: usize,
        response: &Response,
    ) -> Result<Option<Output>, String> {
        let sequence = || numeric(response, "x-ms-blob-sequence-number");
        Ok(match (call, response.status) {
            (PageCall::Get, 200) => {
                let pages = pages(&response.body)?;
                let created = numeric(response, "x-ms-meta-created");
                created.map(|created| Output::Pages(Some(PagesView { created, pages })))
            }
            (PageCall::Get, 404) => Some(Output::Pages(None)),
            (PageCall::Ranges, 200) => written(&response.text()).map(|pages| Output::Ranges(Some(pages))),
            (PageCall::Ranges, 404) => Some(Output::Ranges(None)),
            (PageCall::Sequence, 200) => sequence().map(|number| Output::Sequence(Some(number))),
            (PageCall::Sequence, 404) => Some(Output::Sequence(None)),
            (PageCall::Get | PageCall::Ranges | PageCall::Sequence, _) => None,
            (PageCall::Write { number, .. } | PageCall::SetSequence { number, .. }, 200 | 201) => {
                self.learn(object, *number, response);
                sequence().map(|number| Output::Sequence(Some(number)))
            }
            (PageCall::Create { number, .. }, 201) => {
                self.learn(object, *number, response);
                Some(Output::Applied)
            }
            _ => changed(response),
        })
    }
}

/// The pages in a list of ranges; `None` if the list is invalid.
fn written(list: &str) -> Option<Vec<usize>> {
    let mut pages = Vec::new();
    for range in list.split("<PageRange>").skip(1) {
        let bound = |name: &str| -> Option<usize> {
            range.split_once(&format!("<{name}>"))?.1.split('<').next()?.parse().ok()
        };
        pages.extend(bound("Start")? / PAGE_BYTES..bound("End")?.div_ceil(PAGE_BYTES));
    }
    list.contains("<PageList").then_some(pages)
}
