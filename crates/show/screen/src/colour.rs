//! Colours of the terminal programs, from the palette of 256, or none at all.
//!
//! Owns the ramp (cividis: dark is little), the diverging ramp of differences (blue, grey, orange),
//! and their replacement without colour. Follows <https://no-color.org>: without colour only weight
//! and reversal are left.

use ratatui::style::{Color, Modifier, Style};

/// Cividis (Nunez, Anderton, Renslow 2018) at nine places, in the palette of 256, lightness always
/// growing.
const RAMP: [u8; 9] = [17, 18, 24, 60, 243, 246, 143, 185, 227];
/// Blue for less, grey for no change, orange for more.
const DIVERGING: [u8; 9] = [32, 67, 67, 243, 240, 243, 137, 172, 214];
/// Dark colours, the first four of the ramp among them: text on them is light.
const DARK: [u8; 7] = [17, 18, 24, 60, 240, 243, 67];

/// True if the environment allows colours: no `NO_COLOR`, no dumb terminal.
pub fn colours_allowed() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let dumb = set("TERM").is_some_and(|term| term == "dumb");
    set("NO_COLOR").is_none() && !dumb
}

/// Kind of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    /// The palette of 256.
    Many,
    /// None: weight, reversal and glyphs only.
    None,
}

impl Colours {
    /// Colours by the environment: none with `NO_COLOR` or a dumb terminal.
    pub(crate) fn from_environment() -> Self {
        if colours_allowed() { Self::Many } else { Self::None }
    }

    fn fg(self, colour: u8) -> Style {
        match self {
            Self::Many => Style::new().fg(Color::Indexed(colour)),
            Self::None => Style::new(),
        }
    }

    /// A filled cell with text on it. `part` is the place on the scale.
    pub(crate) fn cell(self, part: f64, difference: bool) -> Style {
        let colour = step(if difference { &DIVERGING } else { &RAMP }, part);
        match self {
            Self::Many => {
                let text = if DARK.contains(&colour) { 254 } else { 16 };
                Style::new().bg(Color::Indexed(colour)).fg(Color::Indexed(text))
            }
            Self::None => Style::new(),
        }
    }

    /// Blocks drawn in the colour of a value, on a track of the maximum length.
    pub(crate) fn bar(self, part: f64, difference: bool) -> Style {
        // The darkest two are invisible on a black terminal; there the length of a bar shows the
        // value.
        let colour = step(if difference { &DIVERGING } else { &RAMP }, part);
        let colour = if colour <= 18 { 25 } else { colour };
        match self {
            Self::Many => Style::new().fg(Color::Indexed(colour)).bg(Color::Indexed(236)),
            Self::None => Style::new(),
        }
    }

    /// Text of less weight.
    pub(crate) fn faint(self) -> Style {
        match self {
            Self::Many => self.fg(245),
            Self::None => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// Important names and figures.
    #[expect(clippy::unused_self, reason = "asked for like its siblings, which do depend on it")]
    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Style of the selection.
    #[expect(clippy::unused_self, reason = "asked for like its siblings, which do depend on it")]
    pub(crate) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// Style of gaps and estimates.
    pub(crate) fn warning(self) -> Style {
        self.fg(214)
    }

    /// Keys in the footer.
    pub(crate) fn key(self) -> Style {
        self.fg(39).add_modifier(Modifier::BOLD)
    }

    /// Phases on the ruler: neighbours differ, the same phase has the same colour.
    pub(crate) fn phase(self, phase: u32) -> Style {
        // Okabe and Ito's order, as in the report's clusters, in the palette of 256.
        const ORDER: [u8; 7] = [74, 214, 36, 227, 32, 166, 175];
        self.fg(ORDER[phase as usize % ORDER.len()])
    }

    /// An absent value's mark.
    pub(crate) fn absent(self) -> Style {
        self.fg(240)
    }
}

fn step(ramp: &[u8; 9], part: f64) -> u8 {
    ramp[((part.clamp(0.0, 1.0) * 9.0) as usize).min(8)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_follows_the_place_on_the_scale() {
        assert_eq!(Colours::Many.cell(0.0, false).bg, Some(Color::Indexed(17)));
        assert_eq!(Colours::Many.cell(1.0, false).bg, Some(Color::Indexed(227)));
        assert_eq!(Colours::Many.cell(0.5, true).bg, Some(Color::Indexed(240)));
        assert_eq!(Colours::Many.cell(f64::NAN, false).bg, Some(Color::Indexed(17)));
    }

    #[test]
    fn nothing_is_coloured_without_colour() {
        let none = Colours::None;
        let styles =
            [none.cell(0.3, false), none.bar(0.3, true), none.faint(), none.key(), none.warning()];
        for style in styles.into_iter().chain([none.chosen(), none.phase(3), none.absent()]) {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }
}
