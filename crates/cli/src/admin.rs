//! Admin calls, sent to the server that has a store open, or executed directly on a store that no server has
//! open.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::Engine;
use lazuli_probe::Request;
use lazuli_probe::blocking::Connection;
use lazuli_server::accounts::Directory;
use lazuli_server::admin::{Admin, FILE};
use lazuli_server::{Config, State};
use serde_json::Value;

use crate::engine_url::{self, EngineError, EngineUrl};
use crate::runtime;

/// Timeout for a response of the running server.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A call of the admin interface.
pub struct AdminCall<'a> {
    /// The verb.
    pub method: &'a str,
    /// The path.
    pub path: String,
    /// The body, perhaps empty.
    pub body: String,
}

/// Makes a call: directly on the store if no server has it open, otherwise on that server.
pub fn call(url: &EngineUrl, call: &AdminCall<'_>) -> Result<Value, String> {
    let runtime = runtime::one_thread()?;
    let opened = runtime.block_on(engine_url::open_rows(url));
    let (status, value) = match (url, opened) {
        (EngineUrl::Memory, _) => {
            return Err("the memory engine stores no accounts; use LAZULI_ACCOUNTS".into());
        }
        (_, Ok(engine)) => runtime.block_on(on_engine(engine, call))?,
        (EngineUrl::File(directory), Err(EngineError::InUse(why))) => {
            on_server(directory, call).map_err(|error| format!("{why}, and {error}"))?
        }
        (_, Err(error)) => return Err(error.into()),
    };
    match (status, value.get("error").and_then(Value::as_str)) {
        (200, _) => Ok(value),
        (_, Some(why)) => Err(why.to_owned()),
        (status, None) => Err(format!("the server responded with status {status}")),
    }
}

async fn on_engine(engine: Arc<dyn Engine>, call: &AdminCall<'_>) -> Result<(u16, Value), String> {
    let config = Config::new(([127, 0, 0, 1], 0).into());
    let state = State::over(engine.clone(), Directory::new(Vec::new()), config).map_err(|e| e.to_string())?;
    let accounts = state.service().accounts();
    state.directory().refresh(&accounts).await.map_err(|e| e.to_string())?;
    let admin = Admin::new(Arc::new(state)).map_err(|e| e.to_string())?;
    let response = admin.call(call.method, &call.path, call.body.as_bytes()).await;
    engine.close().await.map_err(|e| e.to_string())?;
    Ok(response)
}

/// A server that has the store open leaves its address and a token in the store's directory.
pub fn on_server(directory: &Path, call: &AdminCall<'_>) -> Result<(u16, Value), String> {
    let (address, token) = address_and_token(directory)?;
    exchange(&address, &token, call).map_err(|error| format!("the server did not respond: {error}"))
}

/// A call without a token, to the server at an address.
pub fn on_address(address: &str, call: &AdminCall<'_>) -> Result<(u16, Value), String> {
    exchange(address, "", call).map_err(|error| format!("no response from http://{address}: {error}"))
}

/// The address and the token of the server that has the store open.
pub fn address_and_token(directory: &Path) -> Result<(String, String), String> {
    let file = directory.join(FILE);
    let text = std::fs::read_to_string(&file).map_err(|error| {
        format!("failed to find the server's admin listener: {}: {error}", file.display())
    })?;
    let value: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let member = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok((member("address"), member("token")))
}

fn exchange(address: &str, token: &str, call: &AdminCall<'_>) -> std::io::Result<(u16, Value)> {
    let mut request = Request::new(call.method.to_owned(), call.path.clone())
        .with("Host", address.to_owned())
        .with("Authorization", format!("Bearer {token}"))
        .with("Connection", "close")
        .body(call.body.clone());
    request.announce_length();
    let response = Connection::open(address, TIMEOUT)?.exchange(&request)?;
    let malformed = |_| std::io::Error::other("the response is not JSON");
    Ok((response.status, serde_json::from_slice(&response.body).map_err(malformed)?))
}
