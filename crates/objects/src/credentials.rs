//! Credentials: from the environment, or from a file in the format of `~/.aws/credentials`.
//!
//! The file is reloaded periodically, so that rotated keys are used without a restart. Keys never appear in
//! messages.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Interval for reloading the file.
const READ_AGAIN: Duration = Duration::from_secs(10);
/// Largest file.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// The keys that sign requests.
pub struct Keys {
    /// The access key.
    pub id: String,
    /// The secret key.
    pub secret: String,
    /// The token of a session, if the keys are temporary.
    pub token: Option<String>,
}

/// The source of the keys.
pub struct Credentials {
    file: Option<(PathBuf, String)>,
    last: Mutex<(Instant, Arc<Keys>)>,
}

impl Credentials {
    /// Keys that do not change.
    pub fn fixed(id: &str, secret: &str, token: Option<String>) -> Self {
        let keys = Keys { id: id.into(), secret: secret.into(), token };
        Self { file: None, last: Mutex::new((Instant::now(), Arc::new(keys))) }
    }

    /// The keys of a profile in a file.
    pub fn in_file(path: &Path, profile: &str) -> Result<Self, String> {
        let keys = read(path, profile)?;
        let file = Some((path.into(), profile.into()));
        Ok(Self { file, last: Mutex::new((Instant::now(), Arc::new(keys))) })
    }

    /// From the specified file, or else the environment, or else the file of the AWS tools.
    pub fn find(named: Option<&Path>) -> Result<Self, String> {
        let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".into());
        if let Some(path) = named {
            return Self::in_file(path, &profile);
        }
        match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
            (Some(id), Some(secret)) => Ok(Self::fixed(&id, &secret, variable("AWS_SESSION_TOKEN"))),
            (None, None) => match usual_file() {
                Some(path) => Self::in_file(&path, &profile),
                None => Err(
                    "no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, \
                             or pass a file with credentials= in --content"
                        .into(),
                ),
            },
            _ => Err("set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither".into()),
        }
    }

    /// The keys. If the file can no longer be read, the previous keys stay in use.
    pub fn current(&self) -> Arc<Keys> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((path, profile)) = self.file.as_ref().filter(|_| last.0.elapsed() >= READ_AGAIN) {
            last.0 = Instant::now();
            match read(path, profile) {
                Ok(found) => last.1 = Arc::new(found),
                Err(error) => {
                    tracing::warn!(%error, "failed to reload the credentials of the object store; keeping the previous ones")
                }
            }
        }
        Arc::clone(&last.1)
    }
}

/// The value of an environment variable that is not empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The file of the AWS tools, if there is one.
fn usual_file() -> Option<PathBuf> {
    let named = variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
    let home = || variable("HOME").map(|home| Path::new(&home).join(".aws/credentials"));
    named.or_else(home).filter(|path| path.exists())
}

fn read(path: &Path, profile: &str) -> Result<Keys, String> {
    let shown = path.display();
    let size = std::fs::metadata(path).map_err(|error| format!("{shown}: {error}"))?.len();
    if size > FILE_BYTES_MAX {
        return Err(format!("{shown}: too large for a file of credentials"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    parse(&text, profile).ok_or_else(|| {
        format!("{shown}: no aws_access_key_id and aws_secret_access_key for the profile [{profile}]")
    })
}

/// Finds a profile. Keys before the first section belong to every profile.
fn parse(text: &str, profile: &str) -> Option<Keys> {
    let (mut id, mut secret, mut token) = (None, None, None);
    let mut is_wanted = true;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_wanted = name.trim() == profile;
        } else if let (true, Some((name, value))) = (is_wanted, line.split_once('=')) {
            let value = value.trim().to_owned();
            match name.trim() {
                "aws_access_key_id" => id = Some(value),
                "aws_secret_access_key" => secret = Some(value),
                "aws_session_token" => token = Some(value),
                _ => {}
            }
        }
    }
    Some(Keys { id: id?, secret: secret?, token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found() {
        let text = "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=B\n\n[other]\n\
                    aws_access_key_id=C\naws_secret_access_key=D=\naws_session_token = E\n";
        let found = |profile| parse(text, profile).map(|found| (found.id, found.secret, found.token));
        assert_eq!(found("default"), Some(("A".into(), "B".into(), None)));
        assert_eq!(found("other"), Some(("C".into(), "D=".into(), Some("E".into()))));
        assert_eq!(found("third"), None);
        assert!(parse("aws_access_key_id=A\naws_secret_access_key=B", "any").is_some());
    }

    /// Keys that are rotated in the file are used without a restart; if the file is removed, the previous keys
    /// stay in use.
    #[tokio::test]
    async fn files_are_read_again_and_messages_have_no_keys() {
        let path = std::env::temp_dir().join(format!("lazuli-credentials-{}", std::process::id()));
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write("[default]\naws_access_key_id = AKIA\n");
        let error = Credentials::in_file(&path, "default").err().unwrap();
        assert!(!error.contains("AKIA"), "{error}");
        write("[default]\naws_access_key_id = A\naws_secret_access_key=B\n");
        let credentials = Credentials::in_file(&path, "default").unwrap();
        write("[default]\naws_access_key_id = C\naws_secret_access_key=D\n");
        assert_eq!(credentials.current().id, "A", "not yet");
        credentials.last.lock().unwrap().0 -= READ_AGAIN;
        assert_eq!(credentials.current().id, "C");
        std::fs::remove_file(&path).unwrap();
        credentials.last.lock().unwrap().0 -= READ_AGAIN;
        assert_eq!(credentials.current().id, "C");
    }
}
