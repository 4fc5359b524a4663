//! Nobody sees anything of others: a server with jobs of two users answers one of them as a server
//! that only ever had this one's jobs.

use super::{Came, Head, Served};
use crate::access::{Kind, Role};
use crate::routes::{self, Audience};
use crate::testing::batch;

const ALPHA: (&str, u32, &str) = ("alpha-1", 1, "alpha");
const BRAVO: (&str, u32, &str) = ("bravo-1", 2, "bravo");

/// A server, its user `anna` (1), and an operator.
fn served(both: bool) -> (Served, String, String) {
    let served = Served::new();
    let anna = served.user("anna", 1, Role::User);
    let root = served.user("root", 0, Role::Operator);
    let node = served.token(Kind::Node, "n1");
    let jobs = if both { vec![ALPHA, BRAVO] } else { vec![ALPHA] };
    let own: Vec<_> = (0..5).map(|number| batch("n1", number, &jobs)).collect();
    assert_eq!(served.put(&node, &own).status, 200);
    if both {
        let node = served.token(Kind::Node, "n-bravo");
        assert_eq!(served.put(&node, &[batch("n-bravo", 0, &[BRAVO])]).status, 200);
    }
    (served, anna, root)
}

/// Requests to a route that could bring something to light: plain ones, and ones that name what
/// belongs to somebody else.
fn requests(path: &str) -> Vec<String> {
    let time = "from=1767225600&to=1767312000";
    let filters = ["", "&job=bravo-1", "&job=*", "&job=b*", "&user=2", "&node=n-bravo"];
    let more = ["&executable=*bravo*", "&library=*bravo*", "&phase=phase of bravo", "&core=1"];
    let filters: Vec<String> = filters
        .iter()
        .chain(&more)
        .chain(&["&activity=user"])
        .map(|filter| filter.replace(' ', "%20"))
        .collect();
    let by = ["node", "job", "user", "executable", "library", "function", "phase", "core,activity"];
    let each = |path: &str, rest: &str| -> Vec<String> {
        filters.iter().map(|filter| format!("{path}?{time}{filter}{rest}")).collect()
    };
    match path {
        "/api/v1/usage" => by
            .iter()
            .flat_map(|by| each(path, &format!("&by={by}")))
            .chain(["/api/v1/usage".to_owned()])
            .collect(),
        "/api/v1/rates" => ["job", "user", "library", "node,phase"]
            .iter()
            .flat_map(|by| each(path, &format!("&by={by}")))
            .filter(|path| !path.contains("core=") && !path.contains("activity="))
            .collect(),
        "/api/v1/series" => {
            by.iter().flat_map(|by| each(path, &format!("&step=1h&by={by}"))).collect()
        }
        "/api/v1/spreads" => ["", "&job=bravo-1", "&user=2", "&node=n-bravo"]
            .map(|filter| format!("{path}?{time}{filter}"))
            .to_vec(),
        "/api/v1/jobs" => each(path, "").into_iter().chain([path.to_owned()]).collect(),
        "/api/v1/jobs/{id}" => ["alpha-1", "bravo-1", "no-such-job", "bravo-1?user=2", "*", "%2A"]
            .map(|id| format!("/api/v1/jobs/{id}"))
            .to_vec(),
        "/api/v1/findings" => {
            ["", "?job=bravo-1", "?node=n-bravo", "?from=1767225600&to=1767312000"]
                .map(|rest| format!("{path}{rest}"))
                .to_vec()
        }
        "/api/v1/search" => ["a", "bravo", "*", "n", "phase", "/home", "1"]
            .map(|text| format!("{path}?q={text}&{time}"))
            .to_vec(),
        "/prometheus/api/v1/query" => QUERIES
            .iter()
            .map(|query| format!("{path}?time=1767227400&query={}", encoded(query)))
            .collect(),
        "/prometheus/api/v1/query_range" => QUERIES
            .iter()
            .map(|query| {
                let times = "start=1767225600&end=1767229200&step=600";
                format!("{path}?{times}&query={}", encoded(query))
            })
            .collect(),
        "/api/v1/nodes" | "/api/v1/me" | "/prometheus/api/v1/labels" => vec![path.to_owned()],
        "/prometheus/api/v1/label/{name}/values" => {
            let names =
                ["job", "node", "user", "executable", "library", "phase", "core", "__name__"];
            let time = "start=1767225600&end=1767312000";
            let whole = names.map(|name| format!("/prometheus/api/v1/label/{name}/values?{time}"));
            let job = format!(
                "/prometheus/api/v1/label/job/values?{time}&match[]={}",
                encoded("talea_samples{user=\"2\"}")
            );
            whole.into_iter().chain([job]).collect()
        }
        "/prometheus/api/v1/series" => ["talea_samples", "talea_samples{job=~\".*bravo.*\"}"]
            .map(|text| format!("{path}?start=1767225600&end=1767312000&match[]={}", encoded(text)))
            .to_vec(),
        other => panic!("no requests for the route {other}: a new one needs some"),
    }
}

const QUERIES: [&str; 9] = [
    "sum(sum_over_time(talea_samples[1h]))",
    "sum by (job, user) (sum_over_time(talea_work_samples[1h]))",
    "sum by (library) (rate(talea_core_seconds[1h]))",
    "topk(5, sum by (executable, phase) (increase(talea_samples{job!=\"\"}[1h])))",
    "sum_over_time(talea_core_samples[1h])",
    "sum by (node) (sum_over_time(talea_samples{user=\"2\"}[1h]))",
    "count(sum by (job) (sum_over_time(talea_samples{job=~\"bravo.*|alpha.*\"}[1h])))",
    "sum(sum_over_time(talea_samples{job=\"bravo-1\"}[1h]))",
    "sum(sum_over_time(talea_samples{job=\"bravo-1\"}[1h])) / scalar(sum(sum_over_time(talea_samples[1h])))",
];

pub(super) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

#[test]
fn users_see_nothing_of_others_on_any_route() {
    let (both, anna, root) = served(true);
    let (own, anna_alone, _) = served(false);
    let (mut seen, mut vain) = (0, Vec::new());
    for route in routes::all().iter().filter(|route| route.audience == Audience::Person) {
        for path in requests(route.path) {
            let ask = |served: &Served, bearer: &str| -> Came {
                let head: Head<'_> = &[("Authorization", bearer)];
                served.get(&path, head)
            };
            let found = ask(&both, &anna);
            assert!(!found.text.contains("bravo"), "{path}: {}", found.text);
            assert_eq!(found, ask(&own, &anna_alone), "{path}");
            assert!(found.status == 200 || found.status == 404, "{path}: {}", found.text);
            seen += usize::from(found.text.contains("alpha"));
            assert_eq!(both.get(&path, &[]).status, 401, "{path}");
            // The same question brings it to light for who may see it: it was worth asking.
            if path.contains("bravo") || path.contains("user=2") {
                vain.extend((ask(&both, &root).text == found.text).then_some(path));
            }
        }
    }
    assert_eq!(vain, [""; 0], "the operator sees no more");
    assert!(seen > 20, "{seen} answers had own names");
    let all = both.get("/api/v1/usage?by=job", &[("Authorization", &root)]).text;
    assert!(all.contains("bravo-1") && all.contains("alpha-1"), "{all}");
}

#[test]
fn what_anyone_may_read_has_no_names() {
    let (served, anna, _) = served(true);
    served.get("/api/v1/usage", &[("Authorization", &anna)]);
    for path in ["/metrics", "/", "/assets/app.js", "/assets/app.css", "/assets/../t.db", "/x"] {
        let text = served.get(path, &[]).text;
        for name in ["alpha-1", "bravo", "of alpha", "/home/alpha", "anna", "n-bravo", "t.db"] {
            assert!(!text.contains(name), "{path} has {name}");
        }
    }
    let metrics = served.get("/metrics", &[]).text;
    assert!(!metrics.contains("alpha") && !metrics.contains("n1"), "{metrics}");
    assert!(metrics.contains("\ntalea_serve_batches_total 6\n"), "{metrics}");
    assert!(metrics.contains("\ntalea_serve_nodes 2\n"), "{metrics}");
}
