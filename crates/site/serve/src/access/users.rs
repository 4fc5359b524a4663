//! Users who may log in: the file `users`, `name:uid:role:hash`.
//!
//! Owns the line, the hash (Argon2id, as a PHC string, with the parameters that the `argon2` crate
//! recommends) and its checking. Passwords are kept nowhere.

use std::collections::BTreeMap;
use std::path::Path;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};

use super::files::{self, AccessError};

/// The file's name in the folder of the configuration.
pub(super) const FILE: &str = "users";
/// Fewest characters of a password.
const SHORTEST: usize = 8;
/// Most bytes of one.
pub(super) const LONGEST: usize = 1024;

/// Permission of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Own jobs and processes.
    User,
    /// Everything.
    Operator,
}

impl Role {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Operator => "operator",
        }
    }
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Login name.
    pub name: String,
    /// User ID on the nodes; the user sees the jobs of this ID.
    pub uid: u32,
    /// Their permission.
    pub role: Role,
    /// Of the password, as a PHC string.
    pub hash: String,
}

pub(super) fn parse(text: &str, path: &Path) -> Result<BTreeMap<String, User>, AccessError> {
    let mut users = BTreeMap::new();
    for (at, line) in files::lines(text) {
        let refused =
            |why: &str| AccessError::Line { line: at, why: why.to_owned(), path: path.to_owned() };
        let mut fields = line.splitn(4, ':');
        let (Some(name), Some(uid), Some(role), Some(hash)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(refused("expected name:uid:role:hash"));
        };
        files::name(name).map_err(|error| refused(&error.to_string()))?;
        let uid = uid.parse().map_err(|_| refused("expected a number as uid"))?;
        let role = match role {
            "user" => Role::User,
            "operator" => Role::Operator,
            _ => return Err(refused("expected the role `user` or `operator`")),
        };
        PasswordHash::new(hash).map_err(|_| refused("expected a PHC string of Argon2id"))?;
        let user = User { name: name.to_owned(), uid, role, hash: hash.to_owned() };
        if users.insert(name.to_owned(), user).is_some() {
            return Err(refused("this name is there already"));
        }
    }
    Ok(users)
}

fn text(users: &BTreeMap<String, User>) -> String {
    let line =
        |user: &User| format!("{}:{}:{}:{}\n", user.name, user.uid, user.role.word(), user.hash);
    users.values().map(line).collect()
}

/// Adds somebody, or changes who has this name already; true if so.
///
/// # Errors
/// A name or password that cannot be taken, a file that cannot be written or that others may read.
pub fn add(
    folder: &Path,
    name: &str,
    uid: u32,
    role: Role,
    password: &str,
) -> Result<bool, AccessError> {
    files::name(name)?;
    if password.chars().count() < SHORTEST || password.len() > LONGEST {
        return Err(AccessError::Refused(format!(
            "password: expected {SHORTEST} characters at least and {LONGEST} bytes at most"
        )));
    }
    let hash = hashed(password)?;
    let user = User { name: name.to_owned(), uid, role, hash };
    files::change(folder, FILE, |before| {
        let mut users = parse(&before, &folder.join(FILE))?;
        let changed = users.insert(name.to_owned(), user).is_some();
        Ok((text(&users), changed))
    })
}

/// Removes a user, whose tokens stay; false if there is no such name.
///
/// # Errors
/// Files that cannot be read or written.
pub(super) fn remove(folder: &Path, name: &str) -> Result<bool, AccessError> {
    files::change(folder, FILE, |before| {
        let mut users = parse(&before, &folder.join(FILE))?;
        let found = users.remove(name).is_some();
        Ok((text(&users), found))
    })
}

/// All of them by name.
///
/// # Errors
/// A file that cannot be read, or that others may read.
pub fn list(folder: &Path) -> Result<Vec<User>, AccessError> {
    let path = folder.join(FILE);
    let text = files::read(&path)?.unwrap_or_default();
    Ok(parse(&text, &path)?.into_values().collect())
}

pub(super) fn hashed(password: &str) -> Result<String, AccessError> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    let refused = |error| AccessError::Refused(format!("password cannot be hashed: {error}"));
    Ok(hash.map_err(refused)?.to_string())
}

/// True if this is the password. Takes some tens of milliseconds and 19 MiB.
pub(super) fn verified(password: &str, hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = &folder.path().join("config");
        assert!(!add(folder, "anna", 1000, Role::User, "long enough").unwrap());
        assert!(!add(folder, "Ömer b", 0, Role::Operator, "long enough").unwrap());
        assert!(add(folder, "anna", 1001, Role::User, "another one").unwrap());
        let all = list(folder).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].uid, all[0].role), (1001, Role::User));
        assert!(verified("another one", &all[0].hash) && !verified("long enough", &all[0].hash));
        assert!(!all[0].hash.contains("another"));
        assert!(remove(folder, "anna").unwrap() && !remove(folder, "anna").unwrap());
    }

    #[test]
    fn what_cannot_be_taken_says_so() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["", "a:b", "a\nb", " a", "#a", &"x".repeat(300)] {
            assert!(add(folder.path(), name, 1, Role::User, "long enough").is_err(), "{name}");
        }
        assert!(add(folder.path(), "a", 1, Role::User, "short").is_err());
        let path = Path::new("users");
        let hash = hashed("long enough").unwrap();
        let texts = ["a:b", "a:x:user:h", "a:1:root:h", "a:1:user:h"].map(str::to_owned);
        let twice = format!("a:1:user:{hash}\n# said\n\na:2:user:{hash}");
        let said: Vec<String> = texts
            .iter()
            .chain([&twice])
            .map(|text| parse(text, path).unwrap_err().to_string())
            .collect();
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn files_that_others_may_read_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let folder = &folder.path().join("config");
        add(folder, "a", 1, Role::User, "long enough").unwrap();
        let path = folder.join(FILE);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(list(folder), Err(AccessError::Open { mode: 0o640, .. })));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        // Whoever may write to the folder may put another file in its place.
        for mode in [0o755, 0o770, 0o701] {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
            let refused = add(folder, "b", 1, Role::User, "long enough");
            assert!(matches!(refused, Err(AccessError::Folder { mode: seen, .. }) if seen == mode));
        }
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o750)).unwrap();
        add(folder, "b", 1, Role::User, "long enough").unwrap();
    }
}
