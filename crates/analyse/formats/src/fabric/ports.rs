//! Speeds of InfiniBand links.
//!
//! Owns the data rate of a lane of a named speed: data, after the encoding (8b/10b of SDR to QDR,
//! 64b/66b of FDR10 to EDR; later speeds are named by their data). Follows the InfiniBand
//! architecture specification, volume 2.

/// Speed of a link: its name such as `4xEDR`, and bytes a second of data, one way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Speed {
    pub(super) name: String,
    pub(super) rate: Option<f64>,
}

/// The speed of a width such as `4x` and a name such as `EDR`; that of `??` and `???` is unknown.
pub(super) fn speed(width: &str, name: &str) -> Option<Speed> {
    let lanes = match width {
        "1x" => Some(1.0),
        "2x" => Some(2.0),
        "4x" => Some(4.0),
        "8x" => Some(8.0),
        "12x" => Some(12.0),
        "??" => None,
        _ => return None,
    };
    let lane = match name {
        "SDR" => Some(0.25e9),
        "DDR" => Some(0.5e9),
        "QDR" => Some(1e9),
        "FDR10" => Some(1.25e9),
        "FDR" => Some(14.0625e9 / 8.0 * 64.0 / 66.0),
        "EDR" => Some(3.125e9),
        "HDR" => Some(6.25e9),
        "NDR" => Some(12.5e9),
        "XDR" => Some(25e9),
        "???" => None,
        _ => return None,
    };
    let rate = lane.zip(lanes).map(|(lane, lanes): (f64, f64)| lane * lanes);
    Some(Speed { name: format!("{width}{name}"), rate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_links() {
        let rate = |width, name| speed(width, name).map(|speed| speed.rate);
        assert_eq!(rate("4x", "EDR"), Some(Some(12.5e9)));
        assert_eq!(rate("4x", "DDR"), Some(Some(2e9)));
        assert_eq!(rate("2x", "HDR"), Some(Some(12.5e9)));
        let fdr = rate("4x", "FDR").flatten().unwrap();
        assert!((fdr - 6.818_18e9).abs() < 1e5);
        assert_eq!((rate("4x", "???"), rate("??", "SDR")), (Some(None), Some(None)));
        assert_eq!((rate("4x", "edr"), rate("3x", "EDR"), rate("x", "EDR")), (None, None, None));
    }
}
