//! Numbers after a kind: `2`, `0-3`, `2-`, `2:3`, `all`, `even`, `odd`, `P#5`, `1,4`.
//!
//! Owns their meaning. Logical numbers count within the objects of the kind, or within those in an
//! outer object.

use crate::objects::{ObjectId, Topology};

use super::NameError;

/// A number in a name.
#[derive(Clone, Copy)]
pub(super) enum Index {
    Logical(u32),
    Os(u32),
}

/// `P#5`, `os=5`, `L#2`.
pub(super) fn index_of(text: &str) -> Option<Index> {
    let number = |prefix: &str| -> Option<u32> {
        let (start, digits) = (text.get(..prefix.len())?, text.get(prefix.len()..)?);
        start.eq_ignore_ascii_case(prefix).then(|| digits.parse().ok()).flatten()
    };
    let os = number("P#").or_else(|| number("os="));
    os.map(Index::Os).or_else(|| number("L#").map(Index::Logical))
}

/// Objects of one kind or level, with the word for them.
pub(super) struct Among<'t> {
    pub(super) said: &'t str,
    pub(super) objects: Vec<ObjectId>,
}

/// The objects with some numbers; logical ones count within `among`.
pub(super) fn select(
    topology: &Topology,
    among: &Among<'_>,
    numbers: &str,
) -> Result<Vec<ObjectId>, NameError> {
    let wrong = || NameError::Numbers { kind: among.said.to_owned(), found: numbers.to_owned() };
    let count = among.objects.len();
    let every = |first: usize| among.objects.iter().copied().skip(first).step_by(2).collect();
    match numbers.to_ascii_lowercase().as_str() {
        "all" => return Ok(among.objects.clone()),
        "even" => return Ok(every(0)),
        "odd" => return Ok(every(1)),
        _ => {}
    }
    let mut found = Vec::new();
    let absent = |number: usize| NameError::Absent {
        expected: match count {
            0 => format!("`{}` there", among.said),
            _ => format!("`{}` from 0 to {}", among.said, count - 1),
        },
        found: number.to_string(),
    };
    for part in numbers.split(',') {
        match index_of(part) {
            Some(Index::Os(number)) => {
                let is_it = |id: &&ObjectId| topology.get(**id).os_index == Some(number);
                let id = among.objects.iter().find(is_it).copied();
                found.push(id.ok_or_else(|| NameError::Absent {
                    expected: format!(
                        "a number of `{}` that the operating system gave",
                        among.said
                    ),
                    found: part.to_owned(),
                })?);
                continue;
            }
            Some(Index::Logical(number)) => {
                let at = number as usize;
                found.push(*among.objects.get(at).ok_or_else(|| absent(at))?);
                continue;
            }
            None => {}
        }
        let (first, last) = match (part.split_once('-'), part.split_once(':')) {
            // `2-` goes to the end, `2:3` are three from the second, around the end.
            (Some((first, "")), _) => {
                (first.parse().map_err(|_| wrong())?, count.saturating_sub(1))
            }
            (Some((first, last)), _) => {
                (first.parse().map_err(|_| wrong())?, last.parse().map_err(|_| wrong())?)
            }
            (_, Some((first, many))) => {
                let first: usize = first.parse().map_err(|_| wrong())?;
                let many: usize = many.parse().map_err(|_| wrong())?;
                if count == 0 || first >= count {
                    return Err(absent(first));
                }
                found
                    .extend((0..many.min(count)).map(|step| among.objects[(first + step) % count]));
                continue;
            }
            _ => {
                let number: usize = part.parse().map_err(|_| wrong())?;
                (number, number)
            }
        };
        if first > last {
            return Err(wrong());
        }
        let part = among.objects.get(first..=last.min(count)).filter(|_| last < count);
        found.extend(part.ok_or_else(|| absent(last))?);
    }
    Ok(found)
}
