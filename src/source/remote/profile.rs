//! Profiles of the AWS tools (`~/.aws/config` and `~/.aws/credentials`): regions, endpoints and credentials. Keys that stand
//! in a profile are used as they are, and its `credential_process` is run. What needs a login or a role (SSO, `role_arn`)
//! is left to the AWS command line, which hands out credentials of any profile.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use configparser::ini::Ini;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use parking_lot::Mutex;
use serde_json::Value;

/// Credentials are replaced so long before they expire.
const AHEAD: TimeDelta = TimeDelta::minutes(5);

/// A profile of the user's files.
#[derive(Clone, Debug)]
pub struct Profile {
    name: String,
    config: Section,
    credentials: Section,
}

/// The settings of a section, by name.
#[derive(Clone, Default)]
struct Section(std::collections::HashMap<String, Option<String>>);

/// Values may be secret.
impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Section {
    fn of(variable: &str, file: &str, name: &str) -> Section {
        let path = std::env::var_os(variable).map(PathBuf::from);
        let Some(path) = path.or_else(|| Some(std::env::home_dir()?.join(".aws").join(file))) else {
            return Section::default();
        };
        // Names of sections and keys are compared as they are written.
        let mut ini = Ini::new_cs();
        // Commands and secrets may have such characters.
        ini.set_inline_comment_symbols(Some(&[]));
        match std::fs::read_to_string(&path).map(|text| ini.read(text)) {
            Ok(Ok(mut sections)) => Section(sections.remove(name).unwrap_or_default().into_iter().collect()),
            Ok(Err(problem)) => {
                log::warn!("{}: cannot be read: {problem}", path.display());
                Section::default()
            }
            Err(_) => Section::default(),
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_deref().filter(|value| !value.is_empty())
    }
}

impl Profile {
    pub fn named(name: &str) -> Profile {
        let section = if name == "default" { name.to_owned() } else { format!("profile {name}") };
        Profile {
            name: name.to_owned(),
            config: Section::of("AWS_CONFIG_FILE", "config", &section),
            credentials: Section::of("AWS_SHARED_CREDENTIALS_FILE", "credentials", name),
        }
    }

    pub fn exists(&self) -> bool {
        !self.config.0.is_empty() || !self.credentials.0.is_empty()
    }

    pub fn region(&self) -> Option<&str> {
        self.config.get("region")
    }

    pub fn endpoint(&self) -> Option<&str> {
        self.config.get("endpoint_url")
    }

    /// Are there credentials, or ways to get some?
    pub fn has_credentials(&self) -> bool {
        let ways = [
            "aws_access_key_id",
            "credential_process",
            "sso_session",
            "sso_start_url",
            "role_arn",
            "login_session",
        ];
        ways.iter().any(|way| self.get(way).is_some())
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.credentials.get(key).or_else(|| self.config.get(key))
    }

    fn load(&self) -> Result<Loaded, String> {
        if let (Some(key_id), Some(secret_key)) =
            (self.get("aws_access_key_id"), self.get("aws_secret_access_key"))
        {
            let token = self.get("aws_session_token").map(str::to_owned);
            let credential = AwsCredential { key_id: key_id.into(), secret_key: secret_key.into(), token };
            return Ok(Loaded { credential: Arc::new(credential), expires: None });
        }
        match self.get("credential_process") {
            Some(command) => of_process(Command::new("sh").arg("-c").arg(command)),
            None => of_process(Command::new("aws").args([
                "configure",
                "export-credentials",
                "--format=process",
                "--profile",
                &self.name,
            ])),
        }
        .map_err(|problem| format!("profile {:?} gives no credentials: {problem}", self.name))
    }
}

/// What a program prints in the format of `credential_process`.
fn of_process(command: &mut Command) -> Result<Loaded, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound => format!("the command {name} is needed for it, and is not installed"),
        _ => format!("{name}: {cause}"),
    })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it failed").trim();
        // Version 1 of the AWS command line prints how it is used.
        return Err(if text.contains("usage: ") {
            format!("it needs version 2 of {name}")
        } else {
            last.to_owned()
        });
    }
    parsed(&output.stdout).ok_or_else(|| "its program printed something else".into())
}

fn parsed(json: &[u8]) -> Option<Loaded> {
    let value: Value = serde_json::from_slice(json).ok()?;
    let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
    let credential = AwsCredential {
        key_id: text("AccessKeyId")?,
        secret_key: text("SecretAccessKey")?,
        token: text("SessionToken"),
    };
    let expires = match text("Expiration") {
        Some(text) => Some(DateTime::parse_from_rfc3339(&text).ok()?.to_utc()),
        None => None,
    };
    Some(Loaded { credential: Arc::new(credential), expires })
}

#[derive(Clone, Debug)]
struct Loaded {
    credential: Arc<AwsCredential>,
    expires: Option<DateTime<Utc>>,
}

impl Loaded {
    fn is_fresh(&self) -> bool {
        self.expires.is_none_or(|expires| Utc::now() + AHEAD < expires)
    }
}

/// The credentials of a profile, loaded again before they expire.
#[derive(Debug)]
pub struct ProfileCredentials {
    profile: Profile,
    loaded: Arc<Mutex<Option<Loaded>>>,
}

impl ProfileCredentials {
    pub fn new(profile: Profile) -> ProfileCredentials {
        ProfileCredentials { profile, loaded: Arc::default() }
    }
}

/// Why there are no credentials, to be found below the errors of a store.
#[derive(Debug)]
pub struct NoCredentials(pub String);

impl fmt::Display for NoCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoCredentials {}

type Answer<T> = object_store::Result<Arc<T>>;

impl CredentialProvider for ProfileCredentials {
    type Credential = AwsCredential;

    // As the macro async_trait writes it.
    fn get_credential<'s, 'f>(&'s self) -> Pin<Box<dyn Future<Output = Answer<AwsCredential>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        let (profile, loaded) = (self.profile.clone(), self.loaded.clone());
        // A program may run for long. Others that want the same credentials wait for the lock, not for programs of their own.
        let load = move || {
            let mut loaded = loaded.lock();
            if let Some(fresh) = loaded.as_ref().filter(|loaded| loaded.is_fresh()) {
                return Ok(fresh.credential.clone());
            }
            let new = profile.load()?;
            *loaded = Some(new.clone());
            Ok(new.credential)
        };
        let failed = |problem: String| object_store::Error::Generic {
            store: "S3",
            source: Box::new(NoCredentials(problem)),
        };
        Box::pin(async move {
            let loaded = tokio::task::spawn_blocking(load).await;
            loaded.unwrap_or_else(|cause| Err(cause.to_string())).map_err(failed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_print() {
        let json = br#"{"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "b", "SessionToken": "c",
            "Expiration": "2000-01-01T00:00:00+00:00"}"#;
        let loaded = parsed(json).unwrap();
        assert_eq!((loaded.credential.key_id.as_str(), loaded.credential.token.as_deref()), ("a", Some("c")));
        assert!(!loaded.is_fresh());
        assert!(parsed(br#"{"AccessKeyId": "a", "SecretAccessKey": "b"}"#).unwrap().is_fresh());
        for other in
            [&b""[..], b"{}", br#"{"AccessKeyId": "a", "SecretAccessKey": "b", "Expiration": "soon"}"#]
        {
            assert!(parsed(other).is_none());
        }
    }

    #[test]
    fn what_failed_is_named() {
        let failed = |command: &mut Command| of_process(command).unwrap_err();
        let script = "echo first >&2; echo The SSO session has expired >&2; exit 1";
        assert_eq!(failed(Command::new("sh").args(["-c", script])), "The SSO session has expired");
        assert!(failed(&mut Command::new("no-such-program")).contains("no-such-program is needed"));
    }
}
