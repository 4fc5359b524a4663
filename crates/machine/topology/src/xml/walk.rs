//! Objects of a file, in its order, into a draft.
//!
//! Owns the nesting of `<object>` and the permitted kinds in each. The walk has a stack of its own,
//! so that depth costs no call stack.

use crate::objects::{Attributes, ObjectKind};

use super::draft::Draft;
use super::scan::{Element, Scanner, Token};
use super::{MOST_OBJECTS, XmlError, attributes, extras, fields, version1};

/// Reads the root `<object>` and its contents.
pub(super) fn read_object<'a>(
    scan: &mut Scanner<'a>,
    element: &Element<'a>,
    draft: &mut Draft,
) -> Result<(), XmlError> {
    if !draft.objects.is_empty() {
        let line = scan.line(element.at);
        return Err(XmlError::unexpected(line, "one root `<object>`", "a second"));
    }
    let mut stack = vec![open(scan, element, draft, None)?];
    while let Some(&top) = stack.last() {
        match scan.next()? {
            Token::Open(element) => match element.name() {
                "object" => stack.push(open(scan, &element, draft, Some(top))?),
                "info" => {
                    let info = fields::read_info(scan, &element, &mut draft.faults)?;
                    let object = &mut draft.objects[top];
                    // Version 1 had no subtypes.
                    match info {
                        Some((name, value))
                            if draft.version == 1 && (name == "Type" || name == "CoProcType") =>
                        {
                            object.subtype = Some(value).filter(|word| !word.is_empty());
                        }
                        Some((name, value))
                            if draft.above[top].is_none() && extras::is_of_all(&name) =>
                        {
                            draft.infos.push((name, value));
                        }
                        info => object.infos.extend(info),
                    }
                }
                "page_type" => read_pages(scan, &element, draft, top)?,
                "distances" => version1::read_distances(scan, &element, draft, top)?,
                "userdata" => scan.skip()?,
                _ => fields::skip_unknown(scan, &element, &mut draft.faults)?,
            },
            Token::Text(text) if text.trim().is_empty() => {}
            Token::Text(text) => {
                let found = format!("`{}`", text.trim());
                return Err(XmlError::unexpected(scan.line_here(), "an element", &found));
            }
            Token::Close | Token::End => {
                stack.pop();
            }
        }
    }
    Ok(())
}

/// Takes the begin of an object.
fn open(
    scan: &Scanner<'_>,
    element: &Element<'_>,
    draft: &mut Draft,
    above: Option<usize>,
) -> Result<usize, XmlError> {
    if draft.objects.len() >= MOST_OBJECTS {
        let line = scan.line(element.at);
        return Err(XmlError::TooMany { line, limit: MOST_OBJECTS, what: "objects" });
    }
    let mut read =
        attributes::read(scan, element, draft.version, above.is_none(), &mut draft.faults)?;
    // Version 1 had Misc objects with PUs, between others.
    if draft.version == 1
        && read.object.kind == ObjectKind::Misc
        && read.has & attributes::HAS_CPUSET != 0
    {
        read.object.kind = ObjectKind::Group;
        read.object.attributes = Attributes::Group { kind: 0, subkind: 0 };
    }
    let kind = read.object.kind;
    if kind.is_io() || kind == ObjectKind::Misc {
        // They have no PUs of their own, whatever the file contains.
        for set in [
            &mut read.object.cpuset,
            &mut read.object.complete_cpuset,
            &mut read.object.nodeset,
            &mut read.object.complete_nodeset,
        ] {
            *set = crate::CpuSet::default();
        }
    }
    let may_be = match above.map(|above| draft.objects[above].kind) {
        None => kind.is_normal() || draft.version == 1 && kind == ObjectKind::NumaNode,
        Some(above) => may_stand_in(kind, above, draft.version),
    };
    if !may_be {
        let line = scan.line(element.at);
        return Err(match above {
            None => XmlError::unexpected(line, "a Machine as root", &format!("a {kind}")),
            Some(above) => {
                let expected = format!("children that a {} can have", draft.objects[above].kind);
                XmlError::unexpected(line, &expected, &format!("a {kind}"))
            }
        });
    }
    if above.is_none() {
        draft.allowed = read.allowed;
    }
    if let Some(memory) = read.machine_memory {
        draft.machine_memory.0 = memory;
    }
    Ok(draft.push(read.object, above, element.at, read.has))
}

fn may_stand_in(kind: ObjectKind, above: ObjectKind, version: u32) -> bool {
    // Version 1's NUMA nodes had the children of normal objects.
    let is_normal = above.is_normal() || version == 1 && above == ObjectKind::NumaNode;
    match kind {
        ObjectKind::Misc => true,
        _ if kind.is_normal() => is_normal && above != ObjectKind::Pu,
        _ if kind.is_memory() => (is_normal || above.is_memory()) && above != ObjectKind::Pu,
        _ => is_normal || above.is_io(),
    }
}

fn read_pages(
    scan: &mut Scanner<'_>,
    element: &Element<'_>,
    draft: &mut Draft,
    top: usize,
) -> Result<(), XmlError> {
    let number = |name| -> Result<Option<u64>, XmlError> {
        Ok(element.attribute(scan.text, name)?.and_then(|text| text.trim().parse().ok()))
    };
    match (number("size")?, number("count")?, &mut draft.objects[top].attributes) {
        (Some(size), count, Attributes::Numa { pages, .. }) => {
            pages.push((size, count.unwrap_or(0)));
        }
        (Some(size), count, _) if draft.above[top].is_none() => {
            draft.machine_memory.1.push((size, count.unwrap_or(0)));
        }
        _ => {
            draft.faults.damaged(scan.line(element.at), "a `<page_type>` without a node or a size");
        }
    }
    scan.skip()
}
