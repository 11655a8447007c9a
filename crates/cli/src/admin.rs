//! Asks the server that has a store open, or does the same work on a store that nobody has open.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lazuli_engine::Engine;
use lazuli_server::accounts::Directory;
use lazuli_server::admin::{Admin, FILE};
use lazuli_server::{Config, Frontend};
use lazuli_store::Durability;
use serde_json::Value;

use crate::engine_url::{self, EngineError, EngineUrl};
use crate::runtime;

/// How long the running server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A call of the admin interface.
pub struct Call<'a> {
    /// The verb.
    pub method: &'a str,
    /// The path.
    pub path: String,
    /// The body, perhaps empty.
    pub body: String,
}

/// Makes a call: on the store itself if nobody has it open, else on the server that has.
pub fn call(url: &EngineUrl, call: &Call<'_>) -> Result<Value, String> {
    let runtime = runtime::one_thread()?;
    let opened = runtime.block_on(engine_url::open(url, Durability::Full, None));
    let (status, value) = match (url, opened) {
        (EngineUrl::Memory, _) => {
            return Err("an engine in memory has no accounts to keep; use LAZULI_ACCOUNTS".into());
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
        (status, None) => Err(format!("the server answered {status}")),
    }
}

async fn on_engine(engine: Arc<dyn Engine>, call: &Call<'_>) -> Result<(u16, Value), String> {
    let config = Config::new(([127, 0, 0, 1], 0).into());
    let frontend =
        Frontend::over(engine.clone(), Directory::new(Vec::new()), config).map_err(|e| e.to_string())?;
    let accounts = frontend.service().accounts();
    frontend.directory().refresh(&accounts).await.map_err(|e| e.to_string())?;
    let admin = Admin::new(Arc::new(frontend)).map_err(|e| e.to_string())?;
    let answer = admin.call(call.method, &call.path, call.body.as_bytes()).await;
    engine.close().await.map_err(|e| e.to_string())?;
    Ok(answer)
}

/// A server that has the store open leaves its address and a token in the store's directory.
pub fn on_server(directory: &Path, call: &Call<'_>) -> Result<(u16, Value), String> {
    let (address, token) = address_and_token(directory)?;
    exchange(&address, &token, call).map_err(|error| format!("the server did not answer: {error}"))
}

/// A call that needs no token, of whatever server listens there.
pub fn on_address(address: &str, call: &Call<'_>) -> Result<(u16, Value), String> {
    exchange(address, "", call).map_err(|error| format!("no answer from http://{address}: {error}"))
}

/// Where the server that has the store open listens, and what it wants to be shown.
pub fn address_and_token(directory: &Path) -> Result<(String, String), String> {
    let file = directory.join(FILE);
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("the server that has it cannot be asked: {}: {error}", file.display()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let member = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok((member("address"), member("token")))
}

fn exchange(address: &str, token: &str, call: &Call<'_>) -> std::io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let Call { method, path, body } = call;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let malformed = || std::io::Error::other("the answer is not understood");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(malformed)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(malformed)?;
    Ok((status, serde_json::from_str(body).map_err(|_| malformed())?))
}
