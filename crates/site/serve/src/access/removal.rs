//! Removal of a user with all tokens.
//!
//! Owns the order: the user goes first, so that a failure in between leaves no user with half of
//! the tokens, only tokens that nobody is behind.

use std::path::Path;

use super::files::AccessError;
use super::{tokens, users};

/// Removes a user and all of the user's tokens; false if there is no such name.
///
/// # Errors
/// Files that cannot be read or written.
pub fn remove_user(folder: &Path, name: &str) -> Result<bool, AccessError> {
    let found = users::remove(folder, name)?;
    tokens::remove(folder, tokens::Kind::User, name)?;
    Ok(found)
}
