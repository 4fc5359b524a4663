//! Fields of elements that several readers share: numbers, sets, facts, unknown elements.
//!
//! Owns the treatment of unknown elements: they are skipped completely, with a gap.

use talea_model::GapKind;

use crate::cpuset::CpuSet;

use super::scan::{Element, Scanner};
use super::{Faults, XmlError, cut};

/// Skips an unknown element, with a gap.
pub(super) fn skip_unknown(
    scan: &mut Scanner<'_>,
    element: &Element<'_>,
    faults: &mut Faults,
) -> Result<(), XmlError> {
    let detail = format!("line {}: `<{}>`", scan.line(element.at), cut(element.name()));
    faults.note(GapKind::Unsupported, detail);
    scan.skip()
}

/// Reads `<info name= value=/>`; `None` without a name.
pub(super) fn read_info(
    scan: &mut Scanner<'_>,
    element: &Element<'_>,
    faults: &mut Faults,
) -> Result<Option<(String, String)>, XmlError> {
    let name = element.attribute(scan.text, "name")?;
    let value = element.attribute(scan.text, "value")?;
    if name.is_none() {
        faults.damaged(scan.line(element.at), "an `<info>` without a name");
    }
    scan.skip()?;
    Ok(name.map(|name| (name, value.unwrap_or_default())))
}

pub(super) fn number(
    scan: &Scanner<'_>,
    element: &Element<'_>,
    name: &str,
) -> Result<Option<u64>, XmlError> {
    Ok(element.attribute(scan.text, name)?.and_then(|text| text.trim().parse().ok()))
}

pub(super) fn set(
    scan: &Scanner<'_>,
    element: &Element<'_>,
    name: &str,
) -> Result<Option<CpuSet>, XmlError> {
    let Some(text) = element.attribute(scan.text, name)? else { return Ok(None) };
    CpuSet::from_mask(&text).map(Some).map_err(|_| {
        let expected = format!("a set such as `0x0000000f` in `{name}`");
        XmlError::unexpected(scan.line(element.at), &expected, &format!("`{text}`"))
    })
}
