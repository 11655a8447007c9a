//! The tokio runtimes that commands run on.

use tokio::runtime::{Builder, Runtime};

/// Stack of a worker thread. The futures of copies are deep: unoptimised builds need more than the default of 2 MiB. Memory that
/// is never touched costs nothing.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// For servers, and for commands with several connections.
pub fn many_threads() -> Result<Runtime, String> {
    build(Builder::new_multi_thread().thread_stack_size(STACK_BYTES))
}

/// For commands that do one thing at a time.
pub fn one_thread() -> Result<Runtime, String> {
    build(&mut Builder::new_current_thread())
}

fn build(builder: &mut Builder) -> Result<Runtime, String> {
    builder.enable_all().build().map_err(|error| error.to_string())
}
