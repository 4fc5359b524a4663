//! Who gets in, and who does not.

use serde_json::json;

use super::{PASSWORD, Served};
use crate::access::{Kind, Role, add_user, remove_user};

fn login(user: &str, password: &str) -> Vec<u8> {
    json!({ "user": user, "password": password }).to_string().into_bytes()
}

#[test]
fn a_session_from_begin_to_end() {
    let served = Served::new();
    served.user("anna", 1000, Role::User);
    let came = served.post("/api/v1/login", &[], &login("anna", PASSWORD));
    assert_eq!(came.json(), json!({ "name": "anna", "uid": 1000, "operator": false }));
    let cookie = came.cookie.unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let mine = |head: super::Head<'_>| served.get("/api/v1/me", head).status;
    assert_eq!(mine(&[("Cookie", &cookie)]), 200);
    assert_eq!(mine(&[("Cookie", &cookie[..cookie.len() - 1])]), 401);
    // What is wrong is not passed over for what is right.
    assert_eq!(mine(&[("Cookie", &cookie), ("Authorization", "Bearer no")]), 401);
    for (name, site) in
        [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://elsewhere"), ("Origin", "null")]
    {
        let came = served.post("/api/v1/logout", &[("Cookie", &cookie), (name, site)], b"");
        assert_eq!(came.status, 403, "{name}");
        let came = served.post("/api/v1/login", &[(name, site)], &login("anna", PASSWORD));
        assert_eq!(came.status, 403, "{name}");
    }
    let here = format!("http://{}", served.address);
    let came = served.post("/api/v1/logout", &[("Cookie", &cookie), ("Origin", &here)], b"");
    assert_eq!(came.status, 200);
    assert_eq!(mine(&[("Cookie", &cookie)]), 401);
}

#[test]
fn another_password_ends_sessions_and_who_is_removed_is_out() {
    let served = Served::new();
    let token = served.user("anna", 1000, Role::User);
    let came = served.post("/api/v1/login", &[], &login("anna", PASSWORD));
    let cookie = came.cookie.unwrap().split(';').next().unwrap().to_owned();
    add_user(&served.config(), "anna", 1000, Role::User, "another password").unwrap();
    let until = |head: super::Head<'_>| {
        (0..600).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            served.get("/api/v1/me", head).status == 401
        })
    };
    assert!(until(&[("Cookie", &cookie)]));
    assert_eq!(served.get("/api/v1/me", &[("Authorization", &token)]).status, 200);
    remove_user(&served.config(), "anna").unwrap();
    assert!(until(&[("Authorization", &token)]));
}

#[test]
fn names_and_passwords_of_dashboards() {
    use base64::Engine as _;
    let served = Served::new();
    served.user("anna", 1000, Role::User);
    let basic = |text: &str| {
        let text = base64::engine::general_purpose::STANDARD.encode(text);
        served.get("/api/v1/me", &[("Authorization", &format!("Basic {text}"))]).status
    };
    for _ in 0..50 {
        assert_eq!(basic(&format!("anna:{PASSWORD}")), 200);
    }
    for wrong in ["", "anna", "anna:", "anna:wrong", ":", "\u{0}:\u{0}"] {
        assert_eq!(basic(wrong), 401, "{wrong}");
    }
    for wrong in ["Basic", "Basic !", "Digest x", "Bearer", "Bearer ", ""] {
        let came = served.get("/api/v1/me", &[("Authorization", wrong)]);
        assert_eq!(came.status, 401, "{wrong}");
    }
}

#[test]
fn who_guesses_must_wait() {
    let served = Served::new();
    served.user("anna", 1000, Role::User);
    let tries: Vec<u16> = (0..12)
        .map(|n| served.post("/api/v1/login", &[], &login("anna", &format!("guess {n}"))).status)
        .collect();
    assert_eq!(tries[..10], [401; 10]);
    let came = served.post("/api/v1/login", &[], &login("anna", PASSWORD));
    assert_eq!(came.status, 429);
    assert!(came.retry.unwrap().parse::<u64>().unwrap() > 0);
    // Names that there are not are no different.
    let nobody = served.post("/api/v1/login", &[], &login("nobody", "guess"));
    assert_eq!((nobody.status, nobody.text.contains("nobody")), (401, false));
    for body in [&b""[..], b"{}", b"[", b"{\"user\":1,\"password\":2}", &vec![b'x'; 20_000]] {
        let status = served.post("/api/v1/login", &[], body).status;
        assert!(status == 400 || status == 413, "{status}");
    }
}

#[test]
fn operators_get_in_where_others_guess() {
    let served = Served::new();
    served.user("anna", 1000, Role::User);
    served.user("root", 0, Role::Operator);
    let enters = |name: &str, password: &str| {
        served.post("/api/v1/login", &[], &login(name, password)).status
    };
    for n in 0..30 {
        assert_eq!(enters(&format!("nobody {n}"), "a guess"), 401);
    }
    assert_eq!(enters("anna", PASSWORD), 429);
    assert_eq!(enters("root", PASSWORD), 200);
    // Nobody learns whose name is an operator's.
    assert_eq!(enters("root", "a guess"), 429);
    assert_eq!(enters("nobody", "a guess"), 429);
    assert_eq!(enters("root", PASSWORD), 200);
}

#[test]
fn nodes_only_send_and_users_only_ask() {
    let served = Served::new();
    let anna = served.user("anna", 1000, Role::Operator);
    let node = served.token(Kind::Node, "n1");
    assert_eq!(served.get("/api/v1/usage", &[("Authorization", &node)]).status, 403);
    assert_eq!(served.put(&anna, &[]).status, 403);
    assert_eq!(served.put("Bearer wrong", &[]).status, 401);
    assert_eq!(served.put(&node, &[]).status, 200);
}
