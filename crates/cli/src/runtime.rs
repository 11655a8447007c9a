//! The tokio runtimes for commands.

use std::pin::Pin;

use tokio::runtime::Builder;

/// Stack size of a worker thread. The futures of copies are deep: unoptimised builds need more than the default
/// of 2 MiB. Unused stack costs no memory.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// A runtime of tokio.
pub struct Runtime(tokio::runtime::Runtime);

impl Runtime {
    /// Runs a future to its end. It becomes a trait object, so that the code of tokio is compiled once and not
    /// for each command.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let mut done = None;
        let work: Pin<Box<dyn Future<Output = ()> + '_>> = Box::pin(async { done = Some(work.await) });
        self.0.block_on(work);
        done.expect("the work has ended")
    }

    /// The runtime itself, for work of other crates.
    pub fn tokio(&self) -> &tokio::runtime::Runtime {
        &self.0
    }

    /// Ends the runtime without waiting for its threads.
    pub fn shutdown_background(self) {
        self.0.shutdown_background();
    }
}

/// For servers, and for commands with several connections.
pub fn many_threads() -> Result<Runtime, String> {
    build(Builder::new_multi_thread().thread_stack_size(STACK_BYTES))
}

/// For commands that make one request after the other.
pub fn one_thread() -> Result<Runtime, String> {
    build(&mut Builder::new_current_thread())
}

fn build(builder: &mut Builder) -> Result<Runtime, String> {
    builder.enable_all().build().map(Runtime).map_err(|error| error.to_string())
}
