//! Pictures and pages of made-up networks: figures that hold, names that stay text, absence that is
//! said.

#![allow(clippy::unwrap_used)]

#[path = "sample/network.rs"]
mod sample;

use std::collections::BTreeSet;

use serde_json::Value;
use talea_fabric::RouterId;
use talea_report::network::{Network, Picture, Shows, data, page, svg};

/// What a function says of the one sample of this name.
fn of<T>(name: &str, all: fn(sample::Use<'_>), mut f: impl FnMut(&Network<'_>) -> T) -> T {
    let mut out = None;
    all(&mut |found, network| {
        if found == name {
            out = Some(f(network));
        }
    });
    out.unwrap()
}

fn picture(network: &Network<'_>, views: &[usize], route: Option<(u32, u32)>) -> String {
    let route = route.map(|(from, to)| (RouterId(from), RouterId(to)));
    svg(network, &Picture { views: views.to_vec(), route, ..Picture::default() })
}

/// The drawing without its style, which the pictures share.
fn drawn(svg: &str) -> String {
    let at = svg.find("</style>").unwrap();
    let rest = &svg[at..];
    rest[rest.rfind("</defs>").unwrap()..].to_owned()
}

#[test]
fn the_pictures_stay_the_same() {
    let sonar = of("sonar", sample::sonar, |network| picture(network, &[0], Some((21, 23))));
    insta::assert_snapshot!("sonar.svg", sonar);
    let irregular =
        of("irregular", sample::irregular, |network| picture(network, &[0], Some((2, 3))));
    insta::assert_snapshot!("irregular.svg", drawn(&irregular));
    let two = of("dragonfly", sample::dragonfly, |network| picture(network, &[0, 1], None));
    insta::assert_snapshot!("dragonfly-two.svg", drawn(&two));
}

#[test]
fn slabs_have_each_link_once_a_plane() {
    of("sonar", sample::sonar, |network| {
        let picture = picture(network, &[0], None);
        // 2x2x8: X-Y has 4 places with a link each way on either axis; Z-Y and Z-X have 16 places
        // with two along Z and one across.
        let lines = picture.matches("<path class=\"l q").map(|_| 1).sum::<usize>();
        assert!(lines > 3);
        let scene = &picture[picture.find("<g transform").unwrap()..picture.find("</g>").unwrap()];
        let moves: usize = scene
            .lines()
            .filter(|line| line.starts_with("<path class=\"l "))
            .map(|line| line.matches('M').count())
            .sum();
        assert_eq!(moves, 8 + 48 + 48);
    });
}

#[test]
fn two_views_have_one_scale() {
    of("regions", sample::regions, |network| {
        let picture = picture(network, &[0, 2], None);
        assert_eq!(picture.matches("linear, 0 to").count(), 1);
        assert!(picture.contains("both views"));
        assert!(picture.contains("200 are not known"), "absent links are said");
        assert_eq!(
            picture.matches("recorded</tspan>").count(),
            2,
            "the source stands beside each name"
        );
    });
}

#[test]
fn the_recommended_view_is_named() {
    of("regions", sample::regions, |network| {
        let picture = Picture { views: vec![0, 2], recommended: Some(2), ..Picture::default() };
        let text = svg(network, &picture);
        let line = text.lines().find(|line| line.contains("recommended</tspan>")).unwrap();
        assert!(line.contains(&network.views[2].name), "{line}");
        assert_eq!(text.matches("recommended").count(), 1);
        let none = Picture { recommended: Some(99), ..picture };
        assert!(!svg(network, &none).contains("recommended"));
    });
}

#[test]
fn lines_of_text_stay_in_their_room() {
    sample::all(&mut |name, network| {
        let two = picture(network, &[0, 1], Some((0, 1)));
        let mut seen = 0;
        for text in two.split("<text ").filter(|text| text.starts_with("class=\"mono\"")) {
            let x: f64 =
                text.split("x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
            let words = text.split('>').nth(1).unwrap().split('<').next().unwrap();
            let shown = words.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
            // Fonts have .6 em and a little more.
            let end = x + 0.602 * 11.0 * shown.replace("&#39;", "'").chars().count() as f64;
            // The left of two views ends where the space between both begins.
            let views = network.views.len().min(2);
            let room =
                if views == 2 && x < 600.0 && text.contains(" · ") { 602.0 } else { 1240.0 };
            assert!(end <= room, "{name}: {end} of {room}: {words}");
            seen += 1;
        }
        assert!(seen > 0, "{name}");
    });
}

#[test]
fn loads_in_different_units_have_scales_of_their_own() {
    of("regions", sample::regions, |network| {
        let mut other = network.clone();
        other.views[1].unit = "B";
        let picture = picture(&other, &[0, 1], None);
        assert!(!picture.contains("both views"));
        let legend = picture.lines().find(|line| line.contains("linear, 0 to")).unwrap();
        assert!(legend.contains(" packets and to ") && legend.contains("B</text>"), "{legend}");
    });
}

#[test]
fn zero_is_not_absent() {
    sample::nothing(&mut |name, network| {
        let picture = picture(network, &[0], Some((0, 1)));
        let scene = &picture[picture.find("<g transform").unwrap()..picture.find("</g>").unwrap()];
        let class = if name == "empty" { "l q0" } else { "l na" };
        assert!(scene.contains(class), "{name}");
        assert_eq!(scene.contains("l na"), name == "absent");
        assert!(picture.contains("no way is known from"), "nobody knows ways here");
    });
}

#[test]
fn degraded_links_have_a_cross_and_a_line() {
    of("irregular", sample::irregular, |network| {
        let picture = picture(network, &[0], None);
        assert!(picture.contains("<path class=\"worse\""));
        assert!(picture.contains("2 links are worse than they should be"));
        assert!(picture.contains("leaf-c → spine-2, 2.50 GB/s: 4xDDR"));
    });
}

#[test]
fn findings_that_have_no_room_are_counted() {
    let many = |count: usize| {
        of("irregular", sample::irregular, |network| {
            let findings = (0..count).map(|at| format!("finding {at}")).collect();
            picture(&Network { findings, ..network.clone() }, &[0], None)
        })
    };
    assert!(many(14).contains(">and 2 more<") && !many(12).contains(" more<"));
}

#[test]
fn hostile_text_ends_no_element() {
    of("hostile", sample::hostile, |network| {
        for text in [page(network, &Picture::default()), picture(network, &[0], Some((0, 2)))] {
            let lower = text.to_ascii_lowercase();
            assert!(!lower.contains("<img") && !text.contains(['\u{202e}', '\u{61c}']));
            assert!(matches!(lower.matches("<script").count(), 0 | 2));
        }
        for shows in [Shows::Load, Shows::Stalled] {
            let picture = Picture {
                views: vec![7, 0, 0],
                shows,
                route: Some((RouterId(9), RouterId(0))),
                recommended: Some(7),
            };
            let text = svg(network, &picture);
            assert!(!text.contains("NaN") && !text.contains("inf\""), "{text}");
        }
        let empty = Network { views: Vec::new(), ..network.clone() };
        assert!(svg(&empty, &Picture::default()).ends_with("</svg>\n"));
        assert!(page(&empty, &Picture::default()).contains("talea-data"));
    });
}

#[test]
fn a_large_machine_is_a_small_page() {
    sample::gemini([16, 12, 24], 10, &mut |_, network| {
        let page = page(network, &Picture::default());
        assert!(page.len() < 3 << 20, "{} bytes", page.len());
        let picture = picture(network, &[0, 1], Some((5, 4000)));
        assert!(picture.len() < 320 << 10, "{} bytes", picture.len());
    });
}

#[test]
fn the_page_holds_what_links_carry() {
    of("tree", sample::tree, |network| {
        let data = data(network);
        let json = serde_json::to_value(&data).unwrap();
        assert_eq!(json["form"], "levels");
        assert_eq!(json["links"]["to"].as_array().unwrap().len(), 256);
        assert_eq!(json["ways"]["kind"], "kept");
        // 16 leaf switches; from 0 to 15 by four links.
        assert_eq!(json["ways"]["ways"].as_array().unwrap().len(), 256);
        assert_eq!(json["ways"]["ways"][15].as_array().unwrap().len(), 4);
        let mut keys = BTreeSet::new();
        collect("", &json, &mut keys);
        insta::assert_snapshot!("network_keys", keys.into_iter().collect::<Vec<_>>().join("\n"));
    });
    of("sonar", sample::sonar, |network| {
        let json = serde_json::to_value(data(network)).unwrap();
        assert_eq!(json["ways"]["kind"], "dimensions", "tori need no table");
        assert!(json.get("scene").is_none());
        assert_eq!(json["views"][0]["source"], "simulated");
        assert!(json["views"][0]["deviation"][0].is_null(), "nothing is expected there");
    });
}

fn collect(path: &str, value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                collect(&format!("{path}.{key}"), inner, keys);
            }
        }
        Value::Array(list) => {
            let objects = list.iter().any(Value::is_object);
            for inner in list.iter().filter(|_| objects) {
                collect(&format!("{path}[]"), inner, keys);
            }
            keys.insert(path.to_owned());
        }
        _ => {
            keys.insert(path.to_owned());
        }
    }
}
