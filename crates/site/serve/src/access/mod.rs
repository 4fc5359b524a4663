//! Authentication of users, and their permissions.
//!
//! Owns the way from headers to a person or a node: a token, name and password, or the cookie of a
//! session, in this order; what is there and wrong is not passed over for the next. Files are read
//! again when they change. Everything that a person sees goes through [`Person::visible`].

mod files;
pub(crate) mod limits;
mod removal;
mod sessions;
mod tokens;
mod users;

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use talea_store::Visible;
use tokio::sync::Semaphore;

use crate::log;
use crate::log::Seldom;
use crate::refusal::Refusal;

pub use files::AccessError;
pub use removal::remove_user;
pub(crate) use sessions::LASTS;
pub use tokens::{
    Kind, Token, add as add_token, add_all as add_tokens, list as list_tokens,
    remove as remove_tokens,
};
pub use users::{Role, User, add as add_user, list as list_users};

/// The cookie's name.
pub(crate) const COOKIE: &str = "talea_session";
/// Between two looks whether files changed.
const LOOK: Duration = Duration::from_secs(1);
/// How long a name and password that were right need not be hashed again: Grafana sends them with
/// every question.
const REMEMBERED: Duration = Duration::from_mins(5);
const MOST_REMEMBERED: usize = 1000;
/// Failures of an address that are said in five minutes.
const LINES: u32 = 30;
/// Passwords that are hashed at a time, 19 MiB each.
const HASHED_AT_ONCE: usize = 2;

/// Somebody who may ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) operator: bool,
}

impl Person {
    /// Filter that every query of theirs must have.
    pub(crate) fn visible(&self) -> Visible {
        if self.operator { Visible::All } else { Visible::User(self.uid) }
    }

    fn of(user: &User) -> Self {
        let operator = user.role == Role::Operator;
        Self { name: user.name.clone(), uid: user.uid, operator }
    }
}

/// A node that may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node(pub(crate) String);

pub(crate) enum Who {
    Person(Person),
    Node(Node),
}

type Stamps = [Option<(u64, u64, i64, i64)>; 2];

#[derive(Debug, Default)]
struct Files {
    users: BTreeMap<String, User>,
    tokens: tokens::Tokens,
    stamps: Stamps,
    looked: Option<Instant>,
}

/// Everything that decides.
#[derive(Debug)]
pub(crate) struct Access {
    folder: PathBuf,
    files: Mutex<Files>,
    sessions: Mutex<sessions::Sessions>,
    limits: Mutex<limits::Limits>,
    /// Names and passwords that were right, as keyed hashes, with the user's hash and when.
    remembered: Mutex<HashMap<[u8; 32], (String, String, Instant)>>,
    key: hmac::Key,
    hashing: Semaphore,
    /// Hash that passwords of unknown names are compared with, so that these take as long.
    nobody: String,
    /// Failed logins and refused tokens, by address.
    failed: Seldom,
}

/// Nothing that is held panics half-way: what a lock has is whole even after a bug.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Access {
    pub(crate) fn open(folder: &Path) -> Result<Self, AccessError> {
        files::closed(folder)?;
        let secret = tokens::random()?;
        let access = Self {
            folder: folder.to_owned(),
            files: Mutex::default(),
            sessions: Mutex::default(),
            limits: Mutex::default(),
            remembered: Mutex::default(),
            key: hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()),
            hashing: Semaphore::new(HASHED_AT_ONCE),
            nobody: users::hashed(&secret)?,
            failed: Seldom::new(LINES, Duration::from_mins(5)),
        };
        let read = read(folder)?;
        *locked(&access.files) = read;
        Ok(access)
    }

    /// The files as they are now, looked at once a second.
    fn files(&self) -> MutexGuard<'_, Files> {
        let mut files = locked(&self.files);
        let now = Instant::now();
        if files.looked.is_none_or(|looked| now.duration_since(looked) >= LOOK) {
            files.looked = Some(now);
            let stamps = stamps(&self.folder);
            if stamps != files.stamps {
                match read(&self.folder) {
                    Ok(new) => {
                        *files = new;
                        files.looked = Some(now);
                        log::line("users and tokens were read again", &[]);
                    }
                    // Said once for each change; what was read before holds.
                    Err(error) => log::line(
                        "users and tokens cannot be read, those from before hold",
                        &[("error", &error.to_string())],
                    ),
                }
                files.stamps = stamps;
            }
        }
        files
    }

    /// Whether there is anybody who could ask or send.
    pub(crate) fn count(&self) -> (usize, usize) {
        let files = self.files();
        (files.users.len(), files.tokens.len())
    }

    /// Checks a name and a password.
    pub(crate) async fn password(
        &self,
        name: &str,
        password: &str,
        address: IpAddr,
    ) -> Result<User, Refusal> {
        let _one = self.hashing.acquire().await.map_err(|_| Refusal::bug())?;
        self.checked(name, password, address).await
    }

    /// The same for who holds a permit to hash. Those who wait for one are no attempts yet: ten at
    /// once with the right password are not ten that are wrong.
    async fn checked(&self, name: &str, password: &str, address: IpAddr) -> Result<User, Refusal> {
        let checked = self.unsaid(name, password, address).await;
        if let Err(refusal) = &checked {
            let why = match refusal.status {
                StatusCode::TOO_MANY_REQUESTS => "too many wrong passwords",
                _ => "wrong name or password",
            };
            self.failed("login failed", address, &[("user", name), ("why", why)]);
        }
        checked
    }

    /// Says who was refused, in a form that fail2ban reads (packaging/fail2ban).
    fn failed(&self, what: &str, address: IpAddr, values: &[(&str, &str)]) {
        let from = address.to_canonical().to_string();
        self.failed.line(&from, what, &[&[("from", from.as_str())], values].concat());
    }

    async fn unsaid(&self, name: &str, password: &str, address: IpAddr) -> Result<User, Refusal> {
        if password.len() > users::LONGEST {
            return Err(Refusal::wrong());
        }
        let user = self.files().users.get(name).cloned();
        let is_operator = user.as_ref().is_some_and(|user| user.role == Role::Operator);
        let too_many = |wait: Duration| Refusal::too_many(wait.as_secs() + 1);
        let attempt = locked(&self.limits).attempt(name, address, is_operator, Instant::now());
        let attempt = attempt.map_err(too_many)?;
        let hash = user.as_ref().map_or_else(|| self.nobody.clone(), |user| user.hash.clone());
        let password = password.to_owned();
        let right = tokio::task::spawn_blocking(move || users::verified(&password, &hash));
        match (right.await.map_err(|_| Refusal::bug())?, user) {
            (true, Some(user)) => {
                locked(&self.limits).right(name, address, attempt);
                Ok(user)
            }
            _ => Err(attempt.wait.map_or_else(Refusal::wrong, too_many)),
        }
    }

    /// Begins a session; gives its secret.
    pub(crate) fn log_in(&self, user: &User) -> Result<(String, Person), Refusal> {
        let secret = locked(&self.sessions).begin(user, Instant::now());
        Ok((secret.map_err(|_| Refusal::bug())?, Person::of(user)))
    }

    pub(crate) fn log_out(&self, headers: &HeaderMap) {
        if let Some(secret) = cookie(headers) {
            locked(&self.sessions).end(secret);
        }
    }

    pub(crate) async fn who(&self, headers: &HeaderMap, address: IpAddr) -> Result<Who, Refusal> {
        if let Some(authorization) = headers.get(header::AUTHORIZATION) {
            let (scheme, rest) = authorization
                .to_str()
                .ok()
                .and_then(|text| text.split_once(' '))
                .unwrap_or_default();
            if scheme.eq_ignore_ascii_case("basic") {
                return self.of_basic(rest.trim(), address).await.map(Who::Person);
            }
            let found = if scheme.eq_ignore_ascii_case("bearer") {
                self.of_token(rest.trim())
            } else {
                Err(Refusal::wrong())
            };
            if found.is_err() {
                self.failed("token refused", address, &[]);
            }
            return found;
        }
        let secret = cookie(headers).ok_or_else(Refusal::unknown)?;
        let session = locked(&self.sessions)
            .find(secret, Instant::now())
            .map(|(name, password)| (name.to_owned(), password.to_owned()));
        let (name, password) = session.ok_or_else(Refusal::unknown)?;
        let files = self.files();
        let user = files.users.get(&name).filter(|user| user.hash == password);
        user.map(|user| Who::Person(Person::of(user))).ok_or_else(Refusal::unknown)
    }

    fn of_token(&self, shown: &str) -> Result<Who, Refusal> {
        let files = self.files();
        let token = files.tokens.find(shown).ok_or_else(Refusal::wrong)?;
        match token.kind {
            Kind::Node => Ok(Who::Node(Node(token.name.clone()))),
            Kind::User => files
                .users
                .get(&token.name)
                .map(|user| Who::Person(Person::of(user)))
                .ok_or_else(Refusal::wrong),
        }
    }

    /// Somebody whose name and password were right lately.
    fn remembered(&self, seen: &[u8; 32], name: &str) -> Option<Person> {
        let (known, hash, at) = locked(&self.remembered).get(seen).cloned()?;
        let is_fresh = known == name && at.elapsed() < REMEMBERED;
        let files = self.files();
        let user = files.users.get(name).filter(|user| is_fresh && user.hash == hash)?;
        Some(Person::of(user))
    }

    async fn of_basic(&self, encoded: &str, address: IpAddr) -> Result<Person, Refusal> {
        let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let decoded = decoded.unwrap_or_default();
        let Some((name, password)) = decoded.split_once(':') else {
            self.failed("login failed", address, &[("why", "no name and password")]);
            return Err(Refusal::wrong());
        };
        let mut seen = [0; 32];
        seen.copy_from_slice(hmac::sign(&self.key, decoded.as_bytes()).as_ref());
        if let Some(person) = self.remembered(&seen, name) {
            return Ok(person);
        }
        let _one = self.hashing.acquire().await.map_err(|_| Refusal::bug())?;
        // A page of Grafana sends many queries at once: the first one has been hashed by now.
        if let Some(person) = self.remembered(&seen, name) {
            return Ok(person);
        }
        let user = self.checked(name, password, address).await?;
        let now = Instant::now();
        let mut remembered = locked(&self.remembered);
        if remembered.len() >= MOST_REMEMBERED {
            remembered.retain(|_, (_, _, at)| now.duration_since(*at) < REMEMBERED);
        }
        if remembered.len() < MOST_REMEMBERED {
            remembered.insert(seen, (user.name.clone(), user.hash.clone(), now));
        }
        Ok(Person::of(&user))
    }
}

fn read(folder: &Path) -> Result<Files, AccessError> {
    let stamps = stamps(folder);
    let users = folder.join(users::FILE);
    let users = users::parse(&files::read(&users)?.unwrap_or_default(), &users)?;
    let tokens = tokens::Tokens::new(list_tokens(folder)?);
    Ok(Files { users, tokens, stamps, looked: None })
}

fn stamps(folder: &Path) -> Stamps {
    [users::FILE, tokens::FILE].map(|name| files::stamp(&folder.join(name)))
}

/// The secret of the session, if a cookie has one.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE).map(|(_, secret)| secret.trim())
}

/// Address of the client.
pub(crate) fn address(parts: &Parts) -> IpAddr {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip())
}

/// A browser tells where a request comes from: pages of others must not make it change anything,
/// even where it sends what it knows of us.
pub(crate) fn is_of_another_site(headers: &HeaderMap) -> bool {
    let text =
        |name| headers.get(name).and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    let Some(origin) = text("origin") else { return headers.contains_key("origin") };
    let host = text("host").unwrap_or_default();
    origin.split_once("://").is_none_or(|(_, origin)| !origin.eq_ignore_ascii_case(host))
}
