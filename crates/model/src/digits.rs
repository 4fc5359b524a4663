//! Groups of digits of counts.
//!
//! Owns how counts are written; units ([`crate::units`]) and texts ([`crate::notation`]) use it.

/// A count in groups of three digits, as 30,712.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
