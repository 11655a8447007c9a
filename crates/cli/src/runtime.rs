//! The tokio runtimes that commands run on.

use tokio::runtime::{Builder, Runtime};

/// For servers and for whatever keeps several connections busy.
pub fn many_threads() -> Result<Runtime, String> {
    build(&mut Builder::new_multi_thread())
}

/// For commands that do one thing after the other.
pub fn one_thread() -> Result<Runtime, String> {
    build(&mut Builder::new_current_thread())
}

fn build(builder: &mut Builder) -> Result<Runtime, String> {
    builder.enable_all().build().map_err(|error| error.to_string())
}
