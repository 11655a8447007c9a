//! An engine that stores rows and content in different places.

use std::sync::Arc;

use lazuli_engine::layer::Layer;
use lazuli_engine::{Content, Engine};

use crate::content::ObjectContent;

/// An engine with its content in an object store.
pub struct WithContent {
    rows: Arc<dyn Engine>,
    content: Arc<dyn Content>,
}

impl WithContent {
    /// Adds the content to the engine of the rows.
    pub fn new(rows: Arc<dyn Engine>, content: ObjectContent) -> Self {
        Self { rows, content: Arc::new(content) }
    }
}

impl Layer for WithContent {
    fn below(&self) -> &dyn Engine {
        &*self.rows
    }

    fn memory_bytes_max(&self) -> u64 {
        self.rows.memory_bytes_max() + ObjectContent::memory_bytes_max()
    }

    fn content(&self) -> Option<Arc<dyn Content>> {
        Some(Arc::clone(&self.content))
    }
}
