//! Plots as SVG: axes, ticks, colours and the frame that all of them share.
//!
//! Owns the common look of plots, in light and dark, alone and inside the report's page, whose
//! theme overrides the reader's system. It knows neither clusters nor curves: each kind of picture
//! has a file of its own beside this folder. Text comes in raw and is escaped here. Coordinates are
//! pixels; scales turn values into parts from 0 to 1.

mod scale;

use std::fmt::Write;

pub(crate) use scale::{Scale, Spacing};

use crate::text::xml;

/// Categorical colours that are distinct for colour-blind readers, light and dark (Okabe and Ito
/// 2008, without black).
pub(crate) const CATEGORIES: [(&str, &str); 8] = [
    ("#0072b2", "#4aa3df"),
    ("#e69f00", "#f2b134"),
    ("#009e73", "#2fc79a"),
    ("#d55e00", "#f08041"),
    ("#b0649a", "#d68fc3"),
    ("#56b4e9", "#8fd0f5"),
    ("#8c7a00", "#f0e442"),
    ("#5b4bb5", "#a597f5"),
];

/// Maximum length of a plot's titles.
const LONGEST: usize = 120;

/// A rectangle in pixels, y down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Area {
    /// Left.
    pub(crate) x: f64,
    /// Top.
    pub(crate) y: f64,
    /// To the right.
    pub(crate) width: f64,
    /// Down.
    pub(crate) height: f64,
}

/// A rectangle with a scale for each side; y grows upwards.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// The area inside the axes.
    pub(crate) area: Area,
    /// From left to right.
    pub(crate) x: Scale,
    /// From bottom to top.
    pub(crate) y: Scale,
}

impl Plot {
    /// Pixel of a value of x.
    pub(crate) fn px(&self, value: f64) -> f64 {
        self.area.x + self.area.width * self.x.at(value)
    }

    /// Pixel of a value of y.
    pub(crate) fn py(&self, value: f64) -> f64 {
        self.area.y + self.area.height * (1.0 - self.y.at(value))
    }

    /// The smallest value of y inside.
    pub(crate) fn y_begin(&self) -> f64 {
        self.y.begin()
    }

    /// The largest value of y inside.
    pub(crate) fn y_end(&self) -> f64 {
        self.y.end()
    }

    /// Grid, ticks with numbers, and the names of both axes. Needs some 52 px at the left and 36 px
    /// below the area.
    pub(crate) fn axes(&self) -> String {
        let mut out = self.axis_y();
        out.push_str(&self.axis_x());
        out
    }

    /// Ticks and name below.
    pub(crate) fn axis_x(&self) -> String {
        let Area { x, y, width, height } = self.area;
        let mut out = String::new();
        for (value, text) in self.x.ticks((width / 70.0) as usize) {
            let at = self.px(value);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{at:.1} {y:.1}v{height:.1}\"/><text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text>",
                y + height + 14.0,
                xml(&text, LONGEST)
            );
        }
        let _ = writeln!(
            out,
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            x + width,
            y + height + 29.0,
            xml(&self.x.title(), LONGEST)
        );
        out
    }

    /// Ticks at the left, and the name above them.
    pub(crate) fn axis_y(&self) -> String {
        let Area { x, y, width, height } = self.area;
        let mut out = String::new();
        for (value, text) in self.y.ticks((height / 28.0) as usize) {
            let at = self.py(value);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{x:.1} {at:.1}h{width:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                x - 5.0,
                at + 3.5,
                xml(&text, LONGEST)
            );
        }
        let _ = writeln!(
            out,
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x - 46.0,
            y - 8.0,
            xml(&self.y.title(), LONGEST)
        );
        out
    }
}

/// The class that gives a mark the colour of category `at`: `c0` to `c7`, then again from the
/// start.
pub(crate) fn category(at: usize) -> String {
    format!("c{}", at % CATEGORIES.len())
}

/// A whole picture. `body` is its content; `label` describes it in a sentence.
pub(crate) fn document((width, height): (f64, f64), label: &str, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">\n<style>\n{}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
        xml(label, 4 * LONGEST),
        style()
    )
}

/// The same rules in every plot: those of two plots in one page do not differ.
fn style() -> String {
    let colours = |dark: bool| {
        let plain = if dark {
            "--paper:#14181d;--ink:#e4e8ec;--dim:#9aa5b1;--line:#2b333c;--noise:#6b7682"
        } else {
            "--paper:#fff;--ink:#1b2128;--dim:#59636e;--line:#e3e7eb;--noise:#9aa5b1"
        };
        CATEGORIES.iter().enumerate().fold(plain.to_owned(), |mut out, (at, (light, night))| {
            let _ = write!(out, ";--c{at}:{}", if dark { night } else { light });
            out
        })
    };
    let mut out = format!(
        "svg.plot{{{}}}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=light]) svg.plot,svg.plot:root{{{}}}}}\n\
         :root[data-theme=dark] svg.plot{{{}}}\n",
        colours(false),
        colours(true),
        colours(true)
    );
    out.push_str(
        ".plot text{font:11px ui-sans-serif,system-ui,sans-serif;fill:var(--ink)}.plot .tick{font:10.5px ui-monospace,monospace;fill:var(--dim)}\n\
         .plot .name{fill:var(--dim)}.plot .strong{font-weight:600}.plot .paper{fill:var(--paper)}.plot .grid{stroke:var(--line);fill:none}\n\
         .plot .line{fill:none;stroke-width:1.6}.plot .band{stroke:none;fill-opacity:.22}.plot .noise{fill:var(--noise)}.plot .mark{stroke:var(--dim);fill:none}\n",
    );
    for at in 0..CATEGORIES.len() {
        let _ = writeln!(
            out,
            ".plot .c{at}{{fill:var(--c{at})}}.plot .line.c{at}{{fill:none;stroke:var(--c{at})}}"
        );
    }
    out
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "figures that are exact")]
mod tests {
    use super::*;

    #[test]
    fn values_become_pixels_and_names_are_harmless() {
        let plot = Plot {
            area: Area { x: 50.0, y: 10.0, width: 200.0, height: 100.0 },
            x: Scale::new("time", "s", [0.0, 2.0], Spacing::Linear),
            y: Scale::new("<b>", "", [1.0, 100.0], Spacing::Logarithmic),
        };
        assert!((plot.px(1.0) - 150.0).abs() < 1e-9);
        assert!((plot.py(10.0) - 60.0).abs() < 1e-9);
        let picture = document((300.0, 150.0), "a & b", &plot.axes());
        assert!(picture.contains("&lt;b&gt;") && picture.contains("a &amp; b"));
        assert!(!picture.contains("<b>"));
    }
}
