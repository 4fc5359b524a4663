//! Elements of a file beside its objects: kinds of PUs, tiers of memory, support, further facts.
//!
//! Owns these elements of versions 2 and 3, and the treatment of unknown elements: they are skipped
//! completely, with a gap.

use talea_model::GapKind;

use crate::cpuset::CpuSet;
use crate::objects::{CpuKind, MemoryTier};

use super::draft::Draft;
use super::scan::{Element, Scanner, Token};
use super::{Faults, XmlError, cut, relations};

/// Facts of the whole that versions 1 and 2 keep at the root.
pub(super) fn is_of_all(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "Backend",
        "SyntheticDescription",
        "LinuxCgroup",
        "WindowsBuildEnvironment",
        "OSName",
        "OSRelease",
        "OSVersion",
        "HostName",
        "Architecture",
        "hwlocVersion",
        "ProcessName",
    ];
    NAMES.contains(&name)
}

/// Reads an element of `<topology>` that is no object.
pub(super) fn read_element(
    scan: &mut Scanner<'_>,
    element: &Element<'_>,
    draft: &mut Draft,
) -> Result<(), XmlError> {
    match element.name() {
        "distances2" | "distances2hetero" => relations::read_distances(scan, element, draft),
        "memattr" => relations::read_attribute(scan, element, draft),
        "cpukind" => read_cpu_kind(scan, element, draft),
        "support" => {
            if let Some(name) = element.attribute(scan.text, "name")? {
                let value = element.attribute(scan.text, "value")?;
                let value = value.and_then(|text| text.trim().parse().ok()).unwrap_or(1);
                draft.support.push((name, value));
            }
            scan.skip()
        }
        "info" => {
            let info = read_info(scan, element, &mut draft.faults)?;
            draft.infos.extend(info);
            Ok(())
        }
        "memtier" => {
            let kinds = number(scan, element, "kinds")?.unwrap_or(0);
            let nodeset = set(scan, element, "nodeset")?.unwrap_or_default();
            draft.memory_tiers.push(MemoryTier { kinds, nodeset });
            scan.skip()
        }
        // Locality of buses and PUs: the bridges of the file hang there already.
        "pci_locality" => scan.skip(),
        _ => skip_unknown(scan, element, &mut draft.faults),
    }
}

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

fn read_cpu_kind(
    scan: &mut Scanner<'_>,
    element: &Element<'_>,
    draft: &mut Draft,
) -> Result<(), XmlError> {
    let efficiency = element.attribute(scan.text, "forced_efficiency")?;
    let mut kind = CpuKind {
        cpuset: set(scan, element, "cpuset")?.unwrap_or_default(),
        efficiency: efficiency.and_then(|text| text.trim().parse().ok()).unwrap_or(-1),
        infos: Vec::new(),
    };
    loop {
        match scan.next()? {
            Token::Open(info) if info.name() == "info" => {
                kind.infos.extend(read_info(scan, &info, &mut draft.faults)?);
            }
            Token::Open(other) => skip_unknown(scan, &other, &mut draft.faults)?,
            Token::Text(_) => {}
            Token::Close | Token::End => break,
        }
    }
    draft.cpu_kinds.push(kind);
    Ok(())
}
