//! The suite that every content store runs.

use std::sync::Arc;

use lazuli_engine::content::conformance::{ContentFactory, Home};
use lazuli_engine::{Content, content_conformance_tests};
use lazuli_objects::{Bucket, ObjectContent};

use crate::ledger::{Book, Own};
use crate::memory::InMemory;

/// Front ends on one bucket, one after the other.
struct BucketHome {
    bucket: Bucket,
    book: Book,
    open: Option<Arc<Own>>,
}

impl Home for BucketHome {
    async fn open(&mut self) -> Arc<dyn Content> {
        if let Some(own) = self.open.take() {
            own.leave();
        }
        let own = self.book.join();
        self.open = Some(own.clone());
        Arc::new(ObjectContent::new(self.bucket.clone(), own))
    }
}

struct Buckets;

impl ContentFactory for Buckets {
    type Home = BucketHome;

    async fn home(&self) -> BucketHome {
        BucketHome {
            bucket: Bucket::over(Arc::new(InMemory::default()), "some/prefix"),
            book: Book::default(),
            open: None,
        }
    }
}

content_conformance_tests!(Buckets);
