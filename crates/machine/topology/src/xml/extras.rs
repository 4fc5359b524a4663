//! Elements of a file beside its objects: kinds of PUs, tiers of memory, support, further facts.
//!
//! Owns these elements of versions 2 and 3. It refuses distances and attributes of memory
//! ([`super::relations`]).

use crate::objects::{CpuKind, MemoryTier};

use super::draft::Draft;
use super::fields::{number, read_info, set, skip_unknown};
use super::scan::{Element, Scanner, Token};
use super::{XmlError, relations};

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
