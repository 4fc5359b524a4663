//! The guarantees of docs/server.md: each row with its numbers as the code has them, and the tests
//! that hold it.

use std::path::Path;

use crate::access::limits::{MOST_OF_ADDRESS as WRONG_OF_ADDRESS, MOST_OF_NAME as WRONG_OF_NAME};
use crate::connections::{MOST_OF_ADDRESS, Patience, RESERVED};
use crate::state::{LONGEST, MEMORY};
use crate::turns::{AT_ONCE, OF_OPERATORS};

/// Input, what the server does, and tests by name.
type Row = (&'static str, String, &'static [&'static str]);

fn row(input: &'static str, does: &str, tests: &'static [&'static str]) -> Row {
    (input, does.to_owned(), tests)
}

fn rows() -> Vec<Row> {
    let patience = Patience::default();
    vec![
        row(
            "samples, cores and times that are impossible for a node",
            "refuses them and shows the reason; each time of a node counts once",
            &[
                "what_cannot_be_true_is_refused_and_shown_to_operators",
                "a_time_of_a_node_counts_once_whatever_starts_claim_it",
                "a_slice_has_no_more_than_its_cores_can_do",
            ],
        ),
        row(
            "batches while the store is removed, replaced, damaged or full",
            "stores nothing and logs each reason once an hour; agents keep the batches",
            &[
                "batches_wait_while_the_store_is_away",
                "a_store_that_is_gone_is_said_once",
                "a_store_that_is_damaged_is_said_once",
                "a_store_that_is_full_says_so_and_loses_nothing",
                "what_repeats_is_said_now_and_then",
                "answers_and_what_they_mean",
            ],
        ),
        (
            "any number of queries by users",
            format!(
                "reserves {OF_OPERATORS} of {AT_ONCE} concurrent queries for operators; limits a query to {} s and {} MiB, and the server to about 3 GiB",
                LONGEST.as_secs(),
                MEMORY.0 >> 20
            ),
            &[
                "nobody_takes_all_turns",
                "an_operator_looks_at_the_machine_while_others_ask_the_worst",
                "a_query_beyond_its_time_or_memory_is_refused_for_good",
                "a_query_keeps_its_time_where_files_of_functions_hang",
                "each_user_gets_own_findings_also_when_others_were_asked_for_before",
            ],
        ),
        row(
            "a client that disconnects",
            "cancels its query",
            &["a_question_ends_when_its_client_is_gone", "who_goes_away_is_passed_over"],
        ),
        (
            "a client that reads nothing of its answer",
            format!("closes its connection after {} s", patience.answer.as_secs()),
            &["who_does_not_read_is_cut_off", "answers_that_nobody_reads_are_bounded"],
        ),
        (
            "a client that sends half a request",
            format!(
                "closes its connection: after {} s without the rest of the head, {} s without the rest of the body, {} s for batches",
                patience.headers.as_secs(),
                patience.form.as_secs(),
                patience.body.as_secs()
            ),
            &["heads_and_bodies_that_do_not_come_are_given_up"],
        ),
        (
            "any number of connections from one address",
            format!(
                "accepts {MOST_OF_ADDRESS} of them, and reserves one in {RESERVED} of all connections for known agents and operators"
            ),
            &[
                "one_address_shuts_nobody_else_out",
                "addresses_have_their_share_and_known_ones_a_reserve",
                "addresses_of_version_6_count_by_network",
            ],
        ),
        (
            "guessed passwords and tokens",
            format!(
                "logs them with their address; allows {WRONG_OF_NAME} wrong passwords per name and {WRONG_OF_ADDRESS} per address in five minutes; operators can still log in"
            ),
            &[
                "who_is_refused_is_said_as_fail2ban_reads_it",
                "who_guesses_must_wait",
                "names_and_addresses_have_their_bounds",
                "operators_get_in_where_others_guess",
            ],
        ),
        row(
            "files that others may read or write",
            "refuses such users, tokens and key files, and such a configuration folder",
            &["what_is_wrong_is_said_at_once", "files_that_others_may_read_are_refused"],
        ),
    ]
}

/// Text of all Rust files below a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|end| end == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn each_guarantee_has_the_numbers_of_the_code_and_its_tests() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let document = std::fs::read_to_string(top.join("docs/server.md")).unwrap();
    let (_, after) = document.split_once("\n## Guarantees for operators\n").unwrap();
    let section = after.split("\n## ").next().unwrap();
    let documented: Vec<&str> =
        section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let rows = rows();
    let held = rows.iter().map(|(input, does, _)| format!("| {input} | {does} |"));
    assert_eq!(documented, held.collect::<Vec<_>>());
    let mut text = String::new();
    for folder in
        ["site/serve/src", "site/store/src", "site/agent/src", "show/talea/src", "show/talea/tests"]
    {
        sources(&top.join("crates").join(folder), &mut text);
    }
    for name in rows.iter().flat_map(|(_, _, tests)| *tests) {
        assert!(
            text.contains(&format!("#[test]\nfn {name}()"))
                || text.contains(&format!("#[test]\n    fn {name}()")),
            "no test `{name}`"
        );
    }
}
