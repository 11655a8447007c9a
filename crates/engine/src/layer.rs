//! An engine that wraps another one, and sees its scans and commits.

use std::sync::Arc;

use crate::{
    Adopted, Applied, Content, Dump, Engine, EngineFuture, Page, Row, Scan, SharedState, Status, TableId,
    Write,
};

/// An engine that wraps another one. Everything that it does not override goes to the wrapped engine, including
/// methods for which [`Engine`] has a default.
pub trait Layer: Send + Sync + 'static {
    /// The wrapped engine.
    fn below(&self) -> &dyn Engine;

    /// See [`Engine::get`].
    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        self.below().get(table, partition, rows)
    }

    /// See [`Engine::scan`].
    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        self.below().scan(scan)
    }

    /// See [`Engine::apply`].
    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        self.below().apply(table, partition, writes)
    }

    /// See [`Engine::fresh_table`].
    fn fresh_table(&self) -> EngineFuture<'_, TableId> {
        self.below().fresh_table()
    }

    /// See [`Engine::erase`].
    fn erase(&self, table: TableId) -> EngineFuture<'_, bool> {
        self.below().erase(table)
    }

    /// See [`Engine::shared_state`].
    fn shared_state(&self) -> EngineFuture<'_, Option<SharedState>> {
        self.below().shared_state()
    }

    /// See [`Engine::memory_bytes_max`].
    fn memory_bytes_max(&self) -> u64 {
        self.below().memory_bytes_max()
    }

    /// See [`Engine::status`].
    fn status(&self) -> EngineFuture<'_, Status> {
        self.below().status()
    }

    /// See [`Engine::content`].
    fn content(&self) -> Option<Arc<dyn Content>> {
        self.below().content()
    }
}

impl<L: Layer> Engine for L {
    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        Layer::get(self, table, partition, rows)
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Layer::scan(self, scan)
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Layer::apply(self, table, partition, writes)
    }

    fn adopt(&self, table: TableId, rows: Vec<Row>) -> EngineFuture<'_, Adopted> {
        self.below().adopt(table, rows)
    }

    fn fresh_table(&self) -> EngineFuture<'_, TableId> {
        Layer::fresh_table(self)
    }

    fn erase(&self, table: TableId) -> EngineFuture<'_, bool> {
        Layer::erase(self, table)
    }

    fn shared_state(&self) -> EngineFuture<'_, Option<SharedState>> {
        Layer::shared_state(self)
    }

    fn epoch(&self) -> u64 {
        self.below().epoch()
    }

    fn memory_bytes_max(&self) -> u64 {
        Layer::memory_bytes_max(self)
    }

    fn status(&self) -> EngineFuture<'_, Status> {
        Layer::status(self)
    }

    fn dump(&self) -> EngineFuture<'_, Box<dyn Dump>> {
        self.below().dump()
    }

    fn content(&self) -> Option<Arc<dyn Content>> {
        Layer::content(self)
    }

    fn close(&self) -> EngineFuture<'_, ()> {
        self.below().close()
    }
}
