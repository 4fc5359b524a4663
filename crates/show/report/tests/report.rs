//! The page and the pictures of made-up runs: nothing leaves its place, and keys stay what they
//! are.

#![allow(clippy::unwrap_used)]

mod sample;

use std::collections::BTreeSet;

use serde_json::Value;
use talea_report::{GraphData, graph_dot, graph_svg, html};

/// The data element's text and encoding, as a browser's tokenizer finds them: up to the first
/// `</script`.
fn data(page: &str) -> (String, String) {
    let at = page.find("id=\"talea-data\"").expect("the data element");
    let rest = &page[at..];
    let encoding = rest.split("data-encoding=\"").nth(1).unwrap().split('"').next().unwrap();
    let body = rest[rest.find('>').unwrap() + 1..].split("</script").next().unwrap();
    (encoding.to_owned(), body.to_owned())
}

#[test]
fn the_page_holds_the_report() {
    let report = sample::halo();
    let (encoding, body) = data(&html(&report));
    assert_eq!(encoding, "json");
    let payload: Value = serde_json::from_str(&body).unwrap();
    // Compared as read, since reading rounds the last digit of fractions.
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(payload["report"], serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(
        payload["layouts"][0]["nodes"].as_array().unwrap().len(),
        report.classes[0].graph.nodes.len()
    );
}

#[test]
fn hostile_text_ends_no_element() {
    let report = sample::hostile();
    let page = html(&report);
    let lower = page.to_ascii_lowercase();
    assert_eq!(lower.matches("</script").count(), 2, "the data's end and the program's end");
    assert_eq!(lower.matches("<script").count(), 2);
    assert!(!lower.contains("<img"));
    for class in &report.classes {
        let picture = graph_svg(&class.graph);
        assert!(!picture.contains("<img") && !picture.contains("<script"));
        let hidden = |c: char| c != '\n' && talea_model::text::is_hidden(c);
        assert!(!picture.contains(hidden) && !graph_dot(&class.graph).contains(hidden));
    }
}

#[test]
fn long_data_are_packed() {
    let report = sample::large();
    let page = html(&report);
    let (encoding, body) = data(&page);
    assert_eq!(encoding, "deflate");
    assert!(body.len() * 2 < serde_json::to_string(&report).unwrap().len());
    assert!(body.bytes().all(|c| c.is_ascii_alphanumeric() || b"+/=".contains(&c)));
}

#[test]
fn nothing_comes_from_outside() {
    let page = html(&sample::halo());
    let (_, body) = data(&page);
    let frame = page.replace(&body, "");
    for way in
        ["src=", "@import", "url(", "http://", "https://", "fetch(", "XMLHttpRequest", "import("]
    {
        // The name of a language and a pattern of the same page are no addresses.
        let allowed = match way {
            "http://" => frame.matches("http://www.w3.org/2000/svg").count(),
            "url(" => frame.matches("url(#hatch)").count(),
            _ => 0,
        };
        assert_eq!(frame.matches(way).count(), allowed, "{way}");
    }
}

#[test]
fn the_first_load_is_small() {
    let program = include_str!("../../../../web/dist/report.js");
    let style = include_str!("../../../../web/dist/report.css");
    // gzip takes about a third of it; the bound for both packed is 200 KiB.
    assert!(program.len() + style.len() < 200 << 10);
}

#[test]
fn a_run_without_calls_has_a_page() {
    let report = sample::empty();
    assert!(html(&report).contains("talea-data"));
    assert!(graph_svg(&GraphData::default()).starts_with("<svg"));
}

#[test]
fn a_graph_too_large_to_draw_is_folded_and_kept() {
    let mut report = sample::halo();
    let graph = &mut report.classes[0].graph;
    let pattern = graph.nodes[3].clone();
    for id in graph.nodes.len() as u32..5000 {
        let time = talea_model::Nanos(u64::from(id % 97));
        graph.nodes.push(talea_report::data::GraphNode { id, time, ..pattern.clone() });
        let edge = graph.edges[0].clone();
        graph.edges.push(talea_report::data::GraphEdge { from: id - 1, to: id, ..edge });
    }
    let (_, body) = data(&html(&report));
    assert!(body.len() < 2 << 20);
    let picture = graph_svg(&report.classes[0].graph);
    assert!(picture.matches("<g class=\"node ").count() < 300);
    assert!(picture.contains("short calls"));
}

#[test]
fn keys_are_stable() {
    let mut keys = BTreeSet::new();
    collect("", &serde_json::to_value(sample::broken()).unwrap(), &mut keys);
    insta::assert_snapshot!(keys.into_iter().collect::<Vec<_>>().join("\n"));
}

fn collect(path: &str, value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                collect(&format!("{path}.{key}"), inner, keys);
            }
        }
        Value::Array(list) if list.iter().any(Value::is_object) => {
            for inner in list {
                // Trees nest without end; one level tells the keys.
                let name = if path.ends_with(".children") { ".classes[].tree" } else { path };
                let name = if name == path { format!("{path}[]") } else { name.to_owned() };
                collect(&name, inner, keys);
            }
        }
        _ => {
            keys.insert(path.to_owned());
        }
    }
}

#[test]
fn the_pictures_stay_the_same() {
    let report = sample::halo();
    insta::assert_snapshot!("halo.svg", graph_svg(&report.classes[0].graph));
    insta::assert_snapshot!("irregular.svg", graph_svg(&sample::irregular::irregular()));
    insta::assert_snapshot!("halo.dot", graph_dot(&report.classes[0].graph));
}
