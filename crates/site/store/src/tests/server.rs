//! Real servers of Prometheus' API, started for one test each.
//!
//! Owns their processes: ports of the machine's choice, fresh folders, killed when the test is
//! over.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use talea_testing::missing;
use tempfile::TempDir;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Prometheus,
    Victoria,
}

pub(crate) struct Server {
    engine: Engine,
    folder: TempDir,
    port: u16,
    child: Child,
}

/// Starts one of each engine that is installed; says which is not.
pub(crate) fn servers() -> Vec<Server> {
    [Engine::Prometheus, Engine::Victoria].into_iter().filter_map(start).collect()
}

pub(crate) fn start(engine: Engine) -> Option<Server> {
    let program = match engine {
        Engine::Prometheus => "prometheus",
        Engine::Victoria => "victoria-metrics",
    };
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&paths).any(|path| path.join(program).exists()) {
        return missing(&format!("{program} is not installed (apt-get install {program})"));
    }
    // Free now; what takes it meanwhile makes the server end, and the test fail.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let config = "storage:\n  tsdb:\n    out_of_order_time_window: 30d\n";
    std::fs::write(folder.path().join("prometheus.yml"), config).unwrap();
    let child = spawn(engine, folder.path(), port, "-dedup.minScrapeInterval=1ms");
    let mut server = Server { engine, folder, port, child };
    server.wait();
    Some(server)
}

fn spawn(engine: Engine, folder: &Path, port: u16, dedup: &str) -> Child {
    let data = folder.join("data");
    let mut command = match engine {
        Engine::Prometheus => {
            let mut command = Command::new("prometheus");
            command
                .arg("--web.enable-remote-write-receiver")
                // No compaction while a test asks: version 2.42 hides old samples then,
                // or loses them (docs/store.md).
                .args(["min", "max"].map(|end| format!("--storage.tsdb.{end}-block-duration=31d")))
                .arg(format!("--web.listen-address=127.0.0.1:{port}"))
                .arg(format!("--storage.tsdb.path={}", data.display()))
                .arg(format!("--config.file={}", folder.join("prometheus.yml").display()));
            command
        }
        Engine::Victoria => {
            let mut command = Command::new("victoria-metrics");
            command
                .arg(format!("-storageDataPath={}", data.display()))
                .arg(format!("-httpListenAddr=127.0.0.1:{port}"))
                .args(["-search.latencyOffset=0s", "-memory.allowedPercent=5", dedup]);
            command
        }
    };
    let log = std::fs::File::create(folder.join("log")).unwrap();
    command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

impl Server {
    pub(crate) fn engine(&self) -> Engine {
        self.engine
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn wait(&mut self) {
        for _ in 0..600 {
            let path = if self.engine == Engine::Prometheus { "-/ready" } else { "health" };
            let ready = ureq::get(format!("{}/{path}", self.address())).call();
            if ready.is_ok_and(|answer| answer.status().as_u16() == 200) {
                return;
            }
            assert!(self.child.try_wait().unwrap().is_none(), "the server ended: {}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server does not begin to answer");
    }

    /// The end of what it wrote.
    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        log.lines().skip(log.lines().count().saturating_sub(10)).collect::<Vec<_>>().join("\n")
    }

    /// Without a chance to put anything on the disk.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        assert!(TcpStream::connect(("127.0.0.1", self.port)).is_err());
    }

    /// The same data, again; `dedup` is an option of `VictoriaMetrics`.
    pub(crate) fn again(&mut self, dedup: &str) {
        self.child = spawn(self.engine, self.folder.path(), self.port, dedup);
        self.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?}: {}", self.engine, self.log());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Repeats until it is as it should be: what was written shows after a while.
pub(crate) fn eventually(mut check: impl FnMut() -> Result<(), String>) {
    // Far longer than it takes, also beside other tests on a slow disk.
    let end = Instant::now() + Duration::from_secs(150);
    loop {
        match check() {
            Ok(()) => return,
            Err(why) => assert!(Instant::now() < end, "{why}"),
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Nanoseconds since 1970, on the hour that the test began in. Batches that are put before an hour
/// ends and questions of the next one would never meet, however long a test waits.
pub(crate) fn this_hour() -> u64 {
    static BEGAN: OnceLock<u64> = OnceLock::new();
    *BEGAN.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        (now - now % 3600) * 1_000_000_000
    })
}
