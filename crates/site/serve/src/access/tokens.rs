//! Long secrets of nodes and scripts: the file `tokens`, `kind:name:hash`.
//!
//! Owns the line, making a token (256 random bits) and finding whose it is. Only its SHA-256 is
//! kept: a token has no less chance than the hash, so that a slow one as for passwords would gain
//! nothing.

use std::collections::HashMap;
use std::path::Path;

use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};
use subtle::ConstantTimeEq as _;

use super::files::{self, AccessError};

/// The file's name in the folder of the configuration.
pub(super) const FILE: &str = "tokens";

/// Purpose of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Sends batches of one node, nothing else.
    Node,
    /// Reads with the permissions of a user.
    User,
}

impl Kind {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::User => "user",
        }
    }
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of token.
    pub kind: Kind,
    /// The node or the user.
    pub name: String,
    hash: [u8; 32],
}

impl Token {
    /// The begin of the hash, to tell tokens of one name apart.
    pub fn mark(&self) -> String {
        hex(&self.hash[..4])
    }
}

/// All of them, to be found by what somebody shows.
#[derive(Debug, Default)]
pub(super) struct Tokens(HashMap<[u8; 32], Token>);

impl Tokens {
    pub(super) fn new(tokens: Vec<Token>) -> Self {
        Self(tokens.into_iter().map(|token| (token.hash, token)).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Owner of this token. The key of the search is its hash, which nobody can choose; it is
    /// compared in constant time all the same.
    pub(super) fn find(&self, shown: &str) -> Option<&Token> {
        let hash = hash(shown);
        let found = self.0.get(&hash)?;
        bool::from(found.hash.ct_eq(&hash)).then_some(found)
    }
}

pub(super) fn parse(text: &str, path: &Path) -> Result<Vec<Token>, AccessError> {
    let mut tokens = Vec::new();
    for (at, line) in files::lines(text) {
        let refused =
            |why: &str| AccessError::Line { line: at, why: why.to_owned(), path: path.to_owned() };
        let mut fields = line.split(':');
        let (Some(kind), Some(name), Some(hash), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(refused("expected kind:name:hash"));
        };
        let kind = match kind {
            "node" => Kind::Node,
            "user" => Kind::User,
            _ => return Err(refused("expected the kind `node` or `user`")),
        };
        files::name(name).map_err(|error| refused(&error.to_string()))?;
        let hash = unhex(hash).ok_or_else(|| refused("expected a SHA-256 in hex"))?;
        tokens.push(Token { kind, name: name.to_owned(), hash });
    }
    Ok(tokens)
}

fn text(tokens: &[Token]) -> String {
    let line =
        |token: &Token| format!("{}:{}:{}\n", token.kind.word(), token.name, hex(&token.hash));
    tokens.iter().map(line).collect()
}

/// Makes a token, which is known to nobody else afterwards.
///
/// # Errors
/// A name that cannot be taken, a user that there is not, a file that cannot be written or that
/// others may read.
pub fn add(folder: &Path, kind: Kind, name: &str) -> Result<String, AccessError> {
    let mut secrets = add_all(folder, kind, &[name.to_owned()])?;
    secrets.pop().ok_or_else(|| AccessError::Refused("no token was made".to_owned()))
}

/// The same for many names as one step, in their order.
///
/// # Errors
/// As [`add`]; none is made then.
pub fn add_all(folder: &Path, kind: Kind, names: &[String]) -> Result<Vec<String>, AccessError> {
    let users = if kind == Kind::User { super::users::list(folder)? } else { Vec::new() };
    for name in names {
        files::name(name)?;
        if kind == Kind::User && users.iter().all(|user| user.name != *name) {
            return Err(AccessError::Refused(format!("there is no user {name:?}")));
        }
    }
    let secrets = names.iter().map(|_| random()).collect::<Result<Vec<_>, _>>()?;
    files::change(folder, FILE, |before| {
        let mut tokens = parse(&before, &folder.join(FILE))?;
        let new = names.iter().zip(&secrets);
        tokens.extend(new.map(|(name, secret)| Token {
            kind,
            name: name.clone(),
            hash: hash(secret),
        }));
        Ok((text(&tokens), ()))
    })?;
    Ok(secrets)
}

/// Takes all tokens of a name away; gives how many there were.
///
/// # Errors
/// A file that cannot be read or written.
pub fn remove(folder: &Path, kind: Kind, name: &str) -> Result<usize, AccessError> {
    files::change(folder, FILE, |before| {
        let mut tokens = parse(&before, &folder.join(FILE))?;
        let all = tokens.len();
        tokens.retain(|token| token.kind != kind || token.name != name);
        Ok((text(&tokens), all - tokens.len()))
    })
}

/// All of them, in the order in which they were made.
///
/// # Errors
/// A file that cannot be read, or that others may read.
pub fn list(folder: &Path) -> Result<Vec<Token>, AccessError> {
    let path = folder.join(FILE);
    parse(&files::read(&path)?.unwrap_or_default(), &path)
}

/// 256 random bits in hex.
pub(super) fn random() -> Result<String, AccessError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| AccessError::Refused("the system has no random numbers".to_owned()))?;
    Ok(hex(&bytes))
}

pub(super) fn hash(text: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    hash
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut bytes = [0; 32];
    let text = text.as_bytes();
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_itself_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = &folder.path().join("config");
        let first = add(folder, Kind::Node, "n1").unwrap();
        let second = add(folder, Kind::Node, "n1").unwrap();
        assert!(add(folder, Kind::User, "nobody").is_err());
        let tokens = Tokens::new(list(folder).unwrap());
        assert_eq!(tokens.find(&first).unwrap().name, "n1");
        assert_eq!(tokens.find(&second).unwrap().kind, Kind::Node);
        assert!(tokens.find("").is_none() && tokens.find(&first[1..]).is_none());
        let text = std::fs::read_to_string(folder.join(FILE)).unwrap();
        assert!(!text.contains(&first));
        assert_eq!(remove(folder, Kind::Node, "n1").unwrap(), 2);
        assert!(list(folder).unwrap().is_empty());
    }

    #[test]
    fn lines_that_are_none() {
        for text in ["node:a", "root:a:00", "node:a:00", &format!("node:a:{}", "é".repeat(32))] {
            assert!(parse(text, Path::new("tokens")).is_err(), "{text}");
        }
    }
}
