//! `talea serve` with real agents: what they sampled is what it answers, also when it was away
//! meanwhile.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::bench::on_path;
use talea_testing::missing;

struct Site {
    folder: tempfile::TempDir,
}

/// A program that ends with its test.
struct Running {
    child: Child,
    address: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn tell(&mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Site {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn talea(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_talea"));
        command.args(words).current_dir(self.folder.path()).env("NO_COLOR", "1");
        command
    }

    /// What a command prints that must succeed, with this as its input.
    #[track_caller]
    fn does(&self, words: &[&str], input: &str) -> String {
        let mut command = self.talea(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// An operator's token, and a node's in a file.
    fn filled(&self) -> String {
        let config = self.path("config");
        let config = ["--config", &config];
        let with = |words: &[&'static str]| -> Vec<String> {
            ["serve"].iter().chain(words).chain(&config).map(|word| (*word).to_owned()).collect()
        };
        let words = with(&["user", "add", "root", "--uid", "0", "--operator"]);
        self.does(&words.iter().map(String::as_str).collect::<Vec<_>>(), "long enough\n");
        let words = with(&["token", "add", "node", "n1"]);
        let token = self.does(&words.iter().map(String::as_str).collect::<Vec<_>>(), "");
        self.secret("token", &token);
        let words = with(&["token", "add", "user", "root"]);
        self.does(&words.iter().map(String::as_str).collect::<Vec<_>>(), "").trim().to_owned()
    }

    /// A file that nobody else may read.
    fn secret(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
        self.mode(name, 0o600);
    }

    fn mode(&self, name: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.path(name), mode).unwrap();
    }

    #[track_caller]
    fn server(&self, listen: &str, more: &[&str]) -> Running {
        self.started(listen, more).unwrap_or_else(|said| panic!("no server: {said:?}"))
    }

    /// A server where one was before: somebody else may have the port for a moment.
    fn again(&self, listen: &str, more: &[&str]) -> Running {
        let mut said = Vec::new();
        for _ in 0..600 {
            match self.started(listen, more) {
                Ok(running) => return running,
                Err(last) if last.iter().any(|line| line.contains("cannot listen")) => said = last,
                Err(other) => panic!("no server: {other:?}"),
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("no server: {said:?}")
    }

    /// A server, or what it said instead.
    fn started(&self, listen: &str, more: &[&str]) -> Result<Running, Vec<String>> {
        let (config, store) = (self.path("config"), format!("sqlite:{}", self.path("t.db")));
        let words =
            ["serve", "--store", &store, "--config", &config, "--listen", listen, "--slice", "0s"];
        let mut command = self.talea(&[&words[..], more].concat());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let address = loop {
            let Some(line) = lines.next() else {
                child.wait().unwrap();
                return Err(said);
            };
            let line = line.unwrap();
            if let Some(address) = line.strip_prefix("talea: listening on ") {
                break address.to_owned();
            }
            said.push(line);
        };
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Running { child, address })
    }

    /// An agent for some seconds; what it said, or none where this user may not sample.
    #[track_caller]
    fn agent(&self, server: &str, more: &[&str]) -> Option<String> {
        let (token, spool) = (self.path("token"), self.path("spool"));
        let words = ["agent", "--store", server, "--token-file", &token, "--spool", &spool];
        let often = ["--node", "n1", "--rate", "100Hz", "--interval", "300ms"];
        let output = self.talea(&[&words[..], &often, more].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() == Some(3) {
            return missing(&format!("cores cannot be sampled: {said}"));
        }
        assert!(output.status.success(), "{said}");
        Some(said)
    }
}

fn asked(address: &str, token: &str, path: &str) -> Value {
    let request = ureq::get(format!("http://{address}{path}"));
    let request = request.header("Authorization", format!("Bearer {token}"));
    let text = request.call().unwrap().body_mut().read_to_string().unwrap();
    serde_json::from_str(&text).unwrap()
}

/// How many samples and batches an agent says it made.
fn made(said: &str) -> (u64, u64) {
    let line = said.lines().find(|line| line.contains(" samples in ")).unwrap();
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    (numbers[0], numbers[1])
}

/// Somebody with a job: name, number, the job, and a word that is in the paths of what it executes.
pub(super) type Person<'a> = (&'a str, u32, &'a str, &'a str);

/// A server on a copy of this store tells each of two users of their own job, and has no word of
/// the other's in any answer.
pub(super) fn each_sees_only_own(store: &Path, people: [Person<'_>; 2]) {
    let site = Site::new();
    std::fs::copy(store, site.path("t.db")).unwrap();
    site.filled();
    let config = site.path("config");
    let tokens = people.map(|(name, number, _, _)| {
        let number = number.to_string();
        let add = ["serve", "user", "add", name, "--uid", &number, "--config", &config];
        site.does(&add, "long enough\n");
        let add = ["serve", "token", "add", "user", name, "--config", &config];
        site.does(&add, "").trim().to_owned()
    });
    let server = site.server("127.0.0.1:0", &[]);
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let ask = |token: &str, path: &str| {
        let request = agent.get(format!("http://{}{path}", server.address));
        let mut answer = request.header("Authorization", format!("Bearer {token}")).call().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    };
    for (at, token) in tokens.iter().enumerate() {
        let ((_, number, job, word), (_, _, other, others)) = (people[at], people[1 - at]);
        let (status, jobs) = ask(token, "/api/v1/jobs");
        let jobs: Value = serde_json::from_str(&jobs).unwrap();
        let jobs = jobs["jobs"].as_array().unwrap();
        assert!(status == 200 && jobs.iter().all(|one| one["user"] == number), "{jobs:?}");
        assert!(jobs.iter().any(|one| one["job"] == job), "{jobs:?}");
        let own = ask(token, "/api/v1/usage?by=executable").1;
        assert!(own.contains(word), "{own}");
        assert_eq!(ask(token, &format!("/api/v1/jobs/{other}")).0, 404);
        assert_eq!(ask(token, &format!("/api/v1/jobs/{job}")).0, 200);
        let by = ["node", "job,user", "executable", "library", "function", "phase", "core"];
        let usage = by.iter().flat_map(|by| {
            let other = format!("/api/v1/usage?by={by}&job={other}");
            [format!("/api/v1/usage?by={by}"), other]
        });
        let lists =
            ["nodes", "findings", "rates?by=executable", "series?by=executable&step=1h&last=6h"];
        let lists = lists.iter().map(|path| format!("/api/v1/{path}"));
        for path in usage.chain(lists).chain([format!("/api/v1/search?q={others}")]) {
            let (status, text) = ask(token, &path);
            assert!(
                status == 200 && !text.contains(&format!("/{others}")),
                "{path}: {status} {text}"
            );
        }
    }
}

#[test]
fn what_an_agent_sampled_is_what_the_server_answers() {
    let site = Site::new();
    let token = site.filled();
    let mut server = site.server("127.0.0.1:0", &[]);
    let to = format!("http://{}", server.address);
    let Some(said) = site.agent(&to, &["--for", "2s"]) else { return };
    let (samples, batches) = made(&said);
    let answer = asked(&server.address, &token, "/api/v1/usage?by=executable,activity");
    assert_eq!(answer["samples"], samples, "{said}");
    let store = format!("sqlite:{}", site.path("t.db"));
    let words = ["usage", "--store", &store, "--by", "executable,activity", "--limit", "1000"];
    let shown = site.does(&[&words[..], &["--json"]].concat(), "");
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(answer["rows"], shown["rows"]);
    assert_eq!(answer["gaps"], shown["gaps"]);
    assert_eq!(asked(&server.address, &token, "/api/v1/nodes")["nodes"][0]["name"], "n1");
    // Commands ask the server as they ask its file.
    site.secret("asks", &token);
    let ask = |words: &[&str]| -> Value {
        let all = [words, &["--store", &to, "--token-file", "asks", "--json"]].concat();
        serde_json::from_str(&site.does(&all, "")).unwrap()
    };
    let words = ["usage", "--by", "executable,activity", "--limit", "1000"];
    assert_eq!(ask(&words)["rows"], shown["rows"]);
    assert_eq!(ask(&["top", "--once", "--last", "1h"])["samples"], samples);
    let listed = site.does(&["jobs", "--store", &store, "--json"], "");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(ask(&["jobs"])["jobs"], listed["jobs"]);
    assert!(ask(&["jobs", "--findings"])["findings"].is_array());
    let mut strange = site.talea(&["usage", "--store", &to]);
    let output = strange.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("--token-file"), "{said}");
    let metrics = ureq::get(format!("http://{}/metrics", server.address)).call().unwrap();
    let mut text = String::new();
    metrics.into_body().into_reader().read_to_string(&mut text).unwrap();
    assert!(text.contains(&format!("\ntalea_serve_batches_total {batches}\n")), "{text}");
    assert_eq!(server.tell("-TERM"), Some(0));
}

#[test]
fn a_server_that_is_killed_and_comes_back_misses_nothing() {
    let site = Site::new();
    let token = site.filled();
    let first = site.server("127.0.0.1:0", &[]);
    let address = first.address.clone();
    let to = format!("http://{address}");
    let Some(_) = site.agent(&to, &["--for", "600ms"]) else { return };
    let before = asked(&address, &token, "/api/v1/usage")["samples"].as_u64().unwrap();
    drop(first);
    // Nobody is there: all of it waits in the spool.
    let Some(said) = site.agent(&to, &["--for", "1s"]) else { return };
    assert!(said.contains("the server cannot be reached"), "{said}");
    let meanwhile = made(&said).0;
    let _second = site.again(&address, &[]);
    let Some(said) = site.agent(&to, &["--for", "600ms"]) else { return };
    let after = asked(&address, &token, "/api/v1/usage")["samples"].as_u64().unwrap();
    assert_eq!(after, before + meanwhile + made(&said).0, "{said}");
}

#[test]
fn tls_with_an_authority_of_ones_own() {
    if !on_path("openssl") {
        return missing("openssl is not installed").unwrap_or(());
    }
    let site = Site::new();
    site.filled();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=talea"])
        // A certificate of a server, which vouches for itself.
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(site.folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let other = ["genpkey", "-algorithm", "RSA", "-out", "other.pem"];
    let other = Command::new("openssl").args(other).current_dir(site.folder.path()).output();
    assert!(other.unwrap().status.success());
    // Certificates are readable by everybody; a key is not.
    site.mode("cert.pem", 0o600);
    let config = site.path("config");
    for (certificates, key, expected) in [
        ("key.pem", "key.pem", "expected certificates in PEM: `key.pem`"),
        ("cert.pem", "cert.pem", "expected a key in PEM: `cert.pem`"),
        ("none", "key.pem", "expected certificates in PEM: `none`"),
        ("cert.pem", "none", "expected a key in PEM: `none`"),
        ("cert.pem", "other.pem", "expected the key of `cert.pem`: `other.pem`"),
    ] {
        let words =
            ["serve", "--store", "sqlite:t.db", "--config", &config, "--listen", "127.0.0.1:0"];
        let tls = ["--tls-cert", certificates, "--tls-key", key];
        let output =
            site.talea(&[&words[..], &tls].concat()).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(expected), "{said}");
        assert!(!said.contains("listening on"), "{said}");
    }
    let more = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let mut server = site.server("127.0.0.1:0", &more);
    let to = format!("https://{}", server.address);
    let Some(said) = site.agent(&to, &["--for", "500ms"]) else { return };
    assert!(said.contains("expected --ca FILE"), "nobody vouches for it: {said}");
    let Some(said) = site.agent(&to, &["--for", "500ms", "--ca", "cert.pem"]) else { return };
    assert!(!said.contains("cannot be reached"), "{said}");
    assert_eq!(server.tell("-INT"), Some(0));
}

#[test]
fn what_is_wrong_is_said_at_once() {
    let site = Site::new();
    site.filled();
    let config = site.path("config");
    let said = |words: &[&str]| {
        let output = site.talea(words).stdin(Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let add = ["serve", "--config", &config, "user", "add", "anna", "--uid", "1000"];
    assert_eq!(said(&[&add[..], &["password"]].concat()).0, Some(2), "no password in words");
    assert_eq!(said(&add).0, Some(2), "an empty password");
    let (code, text) = said(&["serve", "--config", &config, "user", "remove", "nobody"]);
    assert_eq!(code, Some(2), "{text}");
    let (code, text) = said(&["agent", "--store", "http://127.0.0.1:1"]);
    assert!(code == Some(2) && text.contains("--token-file"), "{text}");
    let (code, text) =
        said(&["serve", "--store", "sqlite:no/such/folder/t.db", "--config", &config]);
    assert!(code == Some(2) && text.contains("no/such/folder"), "{text}");
    let users = format!("{config}/users");
    assert!(Command::new("chmod").args(["644", &users]).status().unwrap().success());
    let (code, text) = said(&["serve", "--store", "sqlite:t.db", "--config", &config]);
    assert!(code == Some(2) && text.contains("600"), "{text}");
    site.mode("config/users", 0o600);
    let serve = ["serve", "--store", "sqlite:t.db", "--config", &config, "--listen"];
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let (code, text) = said(&[&serve[..], &[address]].concat());
        assert!(code == Some(2) && text.contains("--insecure"), "{address}: {text}");
    }
    // One that asks for it comes as far as an address that is not this machine's.
    let (code, text) = said(&[&serve[..], &["192.0.2.1:0", "--insecure"]].concat());
    assert!(code == Some(3) && text.contains("cannot listen"), "{text}");
    for mode in [0o755, 0o701, 0o770] {
        site.mode("config", mode);
        let (code, text) = said(&[&serve[..], &["127.0.0.1:0"]].concat());
        let is_said = text.contains(&format!("mode {mode:o}")) && text.contains("chmod g-w,o-rwx");
        assert!(code == Some(2) && is_said, "{text}");
    }
    site.mode("config", 0o700);
    site.secret("key.pem", "a key");
    site.mode("key.pem", 0o644);
    let tls = ["127.0.0.1:0", "--tls-cert", "key.pem", "--tls-key", "key.pem"];
    let (code, text) = said(&[&serve[..], &tls].concat());
    assert!(code == Some(2) && text.contains("others may read or write the key"), "{text}");
    assert!(!text.contains("listening on"), "an error comes before the port: {text}");
    site.mode("token", 0o640);
    let send = ["agent", "--store", "http://127.0.0.1:1", "--token-file", "token"];
    let send = [&send[..], &["--spool", "spool", "--for", "10ms", "--sampler", "own"]].concat();
    assert!(!said(&send).1.contains("chmod"), "a group may read a token");
    site.mode("token", 0o644);
    let (code, text) = said(&send);
    assert!(code == Some(2) && text.contains("chmod 600"), "{text}");
}

/// What a server says, after this was done to it.
fn said_by_a_server(site: &Site, does: impl FnOnce(&str)) -> String {
    let (config, store) = (site.path("config"), format!("sqlite:{}", site.path("t.db")));
    let words = ["serve", "--store", &store, "--config", &config, "--listen", "127.0.0.1:0"];
    let log = std::fs::File::create(site.path("log")).unwrap();
    let child = site.talea(&words).stderr(log).spawn().unwrap();
    let mut server = Running { child, address: String::new() };
    let text = || std::fs::read_to_string(site.path("log")).unwrap();
    let found = (0..600).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        text().lines().find_map(|line| line.strip_prefix("talea: listening on ").map(str::to_owned))
    });
    does(&found.unwrap());
    assert_eq!(server.tell("-TERM"), Some(0));
    text()
}

#[test]
fn who_is_refused_is_said_as_fail2ban_reads_it() {
    let site = Site::new();
    site.filled();
    let text = said_by_a_server(&site, |address| {
        let client: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let login = format!("http://{address}/api/v1/login");
        let guess = r#"{"user":"a\" from=\"192.0.2.1","password":"a guess"}"#;
        for _ in 0..40 {
            client.post(&login).send(guess).unwrap();
        }
        let me = format!("http://{address}/api/v1/me");
        for wrong in ["Bearer none", "Basic bm9uZQ==", "Digest x"] {
            client.get(&me).header("Authorization", wrong).call().unwrap();
        }
        // Who is right, and who does not say anything, are not said.
        client.get(&me).call().unwrap();
    });
    // The filter of the package, as fail2ban applies it: `<HOST>` is the address.
    let filter =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/fail2ban/talea-serve.conf");
    let filter = std::fs::read_to_string(filter).unwrap();
    let begin = " talea serve: ";
    let words: Vec<&str> = filter
        .lines()
        .find_map(|line| line.strip_prefix("failregex = talea serve: (?:"))
        .and_then(|line| line.strip_suffix(") from=\"<HOST>\""))
        .unwrap()
        .split('|')
        .collect();
    let found = text.lines().filter(|line| {
        let Some((_, said)) = line.split_once(begin) else { return false };
        words.iter().any(|word| said.starts_with(&format!("{word} from=\"127.0.0.1\"")))
    });
    // Thirty of an address in five minutes are enough for anybody who reads.
    assert_eq!(found.count(), 30, "{text}");
    assert!(text.contains("why=\"too many wrong passwords\""), "{text}");
    assert!(!text.contains("from=\"192"), "a name cannot pretend to be an address: {text}");
    assert!(!text.contains("a guess"), "{text}");
}

#[test]
fn what_a_node_should_not_have_sent_is_removed() {
    let site = Site::new();
    let token = site.filled();
    let server = site.server("127.0.0.1:0", &[]);
    let to = format!("http://{}", server.address);
    let Some(said) = site.agent(&to, &["--for", "2s"]) else { return };
    let (samples, _) = made(&said);
    let store = format!("sqlite:{}", site.path("t.db"));
    let forget = ["store", "forget", "--store", &store, "--node", "n1"];
    let run = |more: &[&str]| {
        let output = site.talea(&[&forget[..], more].concat()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(run(&[]).0, Some(2), "all of it must be asked for");
    assert_eq!(run(&["--all", "--from", "1"]).0, Some(2));
    assert_eq!(run(&["--from", "yesterday"]).0, Some(2));
    let (code, text) = run(&["--to", "2000-01-01T00:00:00Z"]);
    assert!(code == Some(0) && text.contains("removed 0 slices"), "{text}");
    let (code, text) = run(&["--all", "--dry-run"]);
    let all = format!("with {samples} samples");
    assert!(code == Some(0) && text.contains("would remove") && text.contains(&all), "{text}");
    assert_eq!(asked(&server.address, &token, "/api/v1/usage")["samples"], samples);
    let (code, text) = run(&["--from", "2000-01-01T00:00:00Z"]);
    assert!(code == Some(0) && text.contains("removed") && text.contains(&all), "{text}");
    // The server that runs meanwhile knows it at once, and says it.
    let answer = asked(&server.address, &token, "/api/v1/usage");
    assert_eq!(answer["samples"], 0);
    assert!(answer["gaps"].to_string().contains("removed by `talea store forget`"), "{answer}");
    let listed = site.does(&["store", "forgotten", "--store", &store, "--json"], "");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed[1]["node"], &listed[1]["samples"]), (&"n1".into(), &samples.into()));
    let shown = site.does(&["store", "forgotten", "--store", &store], "");
    assert!(shown.lines().count() == 2 && shown.contains(&all), "{shown}");
    let (code, text) = run(&["--all"]);
    assert!(code == Some(2) && text.contains("there is no node"), "{text}");
    let other = ["store", "forget", "--store", "sqlite:none.db", "--node", "n1", "--all"];
    let output = site.talea(&other).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!std::path::Path::new(&site.path("none.db")).exists());
}
