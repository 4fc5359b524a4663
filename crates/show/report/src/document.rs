//! The frame of every page: one file of HTML that contains style, program and data.
//!
//! Owns the page's policy - only the one program runs, by its hash, and every request is refused -
//! and the embedding of data, in which no text can end an element. Programs and styles are built
//! from `web/` and kept in the repository, so that building this crate needs no JavaScript tools.

use crate::text;

/// A page.
pub(crate) struct Document<'a> {
    /// Title in the browser; its first 120 characters.
    pub(crate) title: &'a str,
    /// Text after the title.
    pub(crate) product: &'a str,
    /// Style rules, all of them ours.
    pub(crate) styles: &'a [&'a str],
    /// Markup in place of the program where JavaScript is off.
    pub(crate) without: &'a str,
    /// Markup for the program.
    pub(crate) body: &'a str,
    /// Attribute of the data's element: name and value, ours as well.
    pub(crate) attribute: (&'a str, &'a str),
    /// The data, without `<`: see [`harmless`].
    pub(crate) data: &'a str,
    /// The program.
    pub(crate) program: &'a str,
    /// SHA-256 of the program in base64, written when it was built.
    pub(crate) hash: &'a str,
}

impl Document<'_> {
    /// The page as HTML.
    pub(crate) fn html(&self) -> String {
        let Self { product, without, body, data, program, .. } = self;
        let (title, hash) = (text::xml(self.title, 120), self.hash.trim());
        let style = self.styles.concat();
        let (name, value) = self.attribute;
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
             script-src 'sha256-{hash}'\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title} · {product}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
             <style>\n{style}</style>\n</head>\n<body>\n\
             <noscript>{without}</noscript>\n\
             <div id=\"app\">{body}</div>\n\
             <script type=\"text/plain\" id=\"talea-data\" data-{name}=\"{value}\">{data}</script>\n\
             <script>{program}</script>\n</body>\n</html>\n"
        )
    }
}

/// JSON in which no text can end the enclosing element: `<` occurs only inside strings, where an
/// escape has the same meaning.
pub(crate) fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c")
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let value = chunk.iter().fold(0_u32, |sum, &byte| sum << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            if digit <= chunk.len() {
                out.push(char::from(DIGITS[(value >> (18 - 6 * digit)) as usize & 63]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_and_no_style_ends_its_own_element() {
        macro_rules! page {
            ($name:literal) => {
                (
                    include_str!(concat!("../../../../web/dist/", $name, ".js")),
                    include_str!(concat!("../../../../web/dist/", $name, ".css")),
                )
            };
        }
        for (program, style) in [page!("report"), page!("topo"), page!("network")] {
            assert!(!program.to_ascii_lowercase().contains("</script"));
            assert!(!program.contains("<!--"));
            assert!(!style.to_ascii_lowercase().contains("</style"));
        }
    }

    #[test]
    fn base64_of_the_standard() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
