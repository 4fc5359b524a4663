//! A job as the text of its file.
//!
//! Owns the form: a first line with a version, then `key=value` lines, so that people and scripts
//! can read them. Keys that are not known are left out, for newer prologs beside an older agent;
//! what is wrong in those that are makes the file no job's.

use std::fmt::Write as _;

use talea_topology::CpuSet;

use super::{Cores, Notice, is_id};

const FIRST: &str = "talea-job 1";

/// The text of a job.
pub(super) fn format(notice: &Notice) -> String {
    let mut text = format!("{FIRST}\nid={}\n", notice.id);
    if let Some(user) = notice.user {
        let _ = writeln!(text, "user={user}");
    }
    match &notice.cores {
        Cores::Unknown => {}
        Cores::These(set) => {
            let _ = writeln!(text, "cores={set}");
        }
        Cores::All => text.push_str("cores=all\n"),
    }
    text.push_str(if notice.monitored { "monitoring=yes\n" } else { "monitoring=no\n" });
    text
}

/// The job of a text; what was expected, if it is none's.
pub(super) fn parse(text: &str) -> Result<Notice, String> {
    let mut lines = text.lines();
    if lines.next() != Some(FIRST) {
        return Err(format!("expected `{FIRST}` as the first line"));
    }
    let mut notice =
        Notice { id: String::new(), user: None, cores: Cores::Unknown, monitored: true };
    for line in lines {
        let Some((key, value)) = line.split_once('=') else {
            return Err("expected lines of the form key=value".to_owned());
        };
        match (key, value) {
            ("id", id) => id.clone_into(&mut notice.id),
            ("user", user) => {
                notice.user = Some(user.parse().map_err(|_| "expected a user's number")?);
            }
            ("cores", "all") => notice.cores = Cores::All,
            ("cores", list) => {
                let set = CpuSet::from_list(list).map_err(|_| "expected a list of cores")?;
                notice.cores = Cores::These(set);
            }
            ("monitoring", "yes") => notice.monitored = true,
            ("monitoring", "no") => notice.monitored = false,
            ("monitoring", _) => return Err("expected monitoring=yes or no".to_owned()),
            _ => {}
        }
    }
    if is_id(&notice.id) { Ok(notice) } else { Err("expected the job's name as id".to_owned()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_told() -> impl Strategy<Value = Notice> {
        let cores = prop_oneof![
            Just(Cores::Unknown),
            Just(Cores::All),
            prop::collection::vec(0..100_usize, 1..9)
                .prop_map(|all| Cores::These(all.into_iter().collect())),
        ];
        ("[a-z0-9][a-z0-9_.+@\\[\\]-]{0,20}", any::<Option<u32>>(), cores, any::<bool>())
            .prop_map(|(id, user, cores, monitored)| Notice { id, user, cores, monitored })
    }

    proptest! {
        #[test]
        fn texts_give_back_the_job(notice in any_told()) {
            prop_assert_eq!(parse(&format(&notice)), Ok(notice));
        }

        #[test]
        fn any_text_is_a_job_or_none(text in "(talea-job 1\n)?([a-z]{0,9}=?[\\PC\n]{0,9}\n)*") {
            if let Ok(notice) = parse(&text) {
                prop_assert!(is_id(&notice.id));
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |text| parse(text).unwrap_err();
        assert!(said("").contains("first line"));
        assert!(said("talea-job 1\nx").contains("key=value"));
        assert!(said("talea-job 1\nid=../x").contains("name"));
        assert!(said("talea-job 1\nid=1\nuser=-1").contains("number"));
        assert!(said("talea-job 1\nid=1\ncores=x").contains("list"));
        assert!(said("talea-job 1\nid=1\nmonitoring=").contains("yes or no"));
        assert_eq!(parse("talea-job 1\nid=1\nlater=x\n").unwrap().id, "1");
    }
}
