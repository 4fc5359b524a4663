//! The token of an address.

use std::fmt;
use std::io;

use ring::rand::{SecureRandom as _, SystemRandom};
use subtle::ConstantTimeEq as _;

/// A random number of 128 bits in hexadecimal digits.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0; 16];
        let failed = |_| io::Error::other("the system has no random numbers");
        SystemRandom::new().fill(&mut bytes).map_err(failed)?;
        Ok(Self::from_bytes(bytes))
    }

    /// The token of these bytes.
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(format!("{:032x}", u128::from_be_bytes(bytes)))
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> [u8; 16] {
        u128::from_str_radix(&self.0, 16).unwrap_or_default().to_be_bytes()
    }

    /// True if it is this text; the time does not depend on the number of equal characters.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
