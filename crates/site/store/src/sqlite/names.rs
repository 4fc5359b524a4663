//! Ids of what questions name.
//!
//! Owns how names are looked up, one by its index and patterns by going through all of a kind.
//! However many there are, they are one bound value: a JSON array.

use rusqlite::{Connection, params_from_iter};
use talea_model::network::is_network_library;

use crate::arrival::cut;
use crate::question::{Question, Text};

/// Ids of the executables and libraries that a question asks for.
pub(super) fn modules(
    connection: &Connection,
    question: &Question,
) -> rusqlite::Result<(Option<String>, Option<String>)> {
    let ids =
        |text: &Option<Text>| text.as_ref().map(|text| ids(connection, &MODULES, text)).transpose();
    Ok((ids(&question.executable)?, ids(&question.library)?))
}

/// Ids of the libraries of MPI and networks, as a JSON array; none where there are none.
pub(super) fn network_libraries(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let list = matching(connection, MODULES.all, None, is_network_library)?;
    Ok(Some(list).filter(|list| list != "[]"))
}

/// Where names of a kind are, all of them and by name.
pub(super) struct Names {
    all: &'static str,
    one: &'static str,
}

pub(super) const NODES: Names =
    Names { all: "SELECT id, name FROM node", one: "SELECT id, name FROM node WHERE name = ?1" };
pub(super) const JOBS: Names =
    Names { all: "SELECT id, name FROM job", one: "SELECT id, name FROM job WHERE name = ?1" };
const MODULES: Names = Names {
    all: "SELECT id, path FROM module",
    one: "SELECT id, path FROM module WHERE path = ?1",
};
pub(super) const PHASES: Names =
    Names { all: "SELECT id, name FROM phase", one: "SELECT id, name FROM phase WHERE name = ?1" };

/// Ids of the names that a text asks for, as a JSON array: one bound value however many they are.
pub(super) fn ids(connection: &Connection, names: &Names, text: &Text) -> rusqlite::Result<String> {
    let (sql, bound) = match text {
        Text::Is(name) => (names.one, Some(cut(name))),
        Text::Like(_) => (names.all, None),
    };
    matching(connection, sql, bound, |name| text.matches(name))
}

/// Ids of the names that are wanted.
fn matching(
    connection: &Connection,
    sql: &str,
    bound: Option<&str>,
    is_wanted: impl Fn(&str) -> bool,
) -> rusqlite::Result<String> {
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query(params_from_iter(bound))?;
    let mut list = String::from("[");
    while let Some(row) = rows.next()? {
        if row.get_ref(1)?.as_str().is_ok_and(&is_wanted) {
            if list.len() > 1 {
                list.push(',');
            }
            list.push_str(&row.get::<_, i64>(0)?.to_string());
        }
    }
    list.push(']');
    Ok(list)
}
