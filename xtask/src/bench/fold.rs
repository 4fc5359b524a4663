//! Folding: all counters of a real trace, a million samples of one counter, and the whole command.
//!
//! References are `SciPy`'s smoothing spline (lambda by generalised cross-validation, no band, no
//! jumps) and dense kriging with `NumPy` at the size that the older tool is limited to, where a
//! Python with both exists: that of `TALEA_PYTHON`, of `target/python`, or `python3`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use talea_fold::regions::{self, Wanted, choose};
use talea_fold::{FitOptions, Projected, SelectOptions, fit, fit_all, project, select};
use talea_formats::paraver;
use talea_model::Nanos;

use super::{built, heading, output, scratch, spread};

const ROUNDS: usize = 7;
/// Instances and samples in each of the generated counter.
const MANY: (usize, usize) = (10_000, 100);

/// Program of the references for columns x and y in a file, with their seconds.
const SCRIPT: &str = "\
import sys, time, numpy as np
x, y = np.loadtxt(sys.argv[2]).T
order = np.argsort(x, kind='stable'); x, y = x[order], y[order]
keep = np.concatenate([[True], np.diff(x) > 0]); x, y = x[keep], y[keep]
begin = time.perf_counter()
if sys.argv[1] == 'spline':
    from scipy.interpolate import make_smoothing_spline
    begin = time.perf_counter()
    make_smoothing_spline(x, y)(np.linspace(0, 1, 1001), 1)
else:
    at = np.linspace(0, len(x) - 1, min(1500, len(x))).astype(int); x, y = x[at], y[at]
    n = len(x); a = np.zeros((n + 2, n + 2))
    a[:n, :n] = np.abs(x[:, None] - x[None, :]) ** 3 + 1e-4 * np.eye(n)
    a[:n, n] = a[n, :n] = 1; a[:n, n + 1] = a[n + 1, :n] = x
    np.linalg.solve(a, np.concatenate([y, [0, 0]]))
print(time.perf_counter() - begin)
";

pub(crate) fn run() -> Result<(), String> {
    heading("Folding");
    println!(
        "Median (smallest to largest) of {ROUNDS} rounds; references once. Ours chooses smoothing and jumps and has a band.\n"
    );
    println!(
        "| what | ours | limit | SciPy smoothing spline | dense kriging, 1500 samples |\n|---|---|---|---|---|"
    );
    let folder = scratch("fold")?;
    let done = rows(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    done
}

fn rows(folder: &Path) -> Result<(), String> {
    let data =
        std::env::var_os("TALEA_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from);
    let namd = data.join("paraver/namd_24it.prv");
    if namd.is_file() {
        let all = projected(&namd)?;
        let ours = rounds(|| fit_all(&all, &FitOptions::default()).len());
        let (mut spline, mut kriging) = (Some(0.0), Some(0.0));
        for one in &all {
            spline = spline.zip(reference("spline", one, folder)).map(|(a, b)| a + b);
            kriging = kriging.zip(reference("kriging", one, folder)).map(|(a, b)| a + b);
        }
        row(&format!("NAMD, {} counters", all.len()), ours, "500 ms", spline, kriging);
        if let Ok(talea) = built("talea") {
            let whole = rounds(|| {
                let mut command = Command::new(&talea);
                command.arg("fold").arg(&namd).stdout(Stdio::null()).stderr(Stdio::null());
                // A command that refuses is fast, and no figure.
                assert!(command.status().is_ok_and(|status| status.success()), "{command:?}");
                0
            });
            row("`talea fold` of the same, whole process", whole, "-", None, None);
        }
    } else {
        println!("| NAMD | no `{}` | | | |", namd.display());
    }
    let many = generated();
    let ours = rounds(|| fit(&many, &FitOptions::default()).map_or(0, |curve| curve.samples));
    let (spline, kriging) =
        (reference("spline", &many, folder), reference("kriging", &many, folder));
    row(&format!("{} samples of one counter", many.x.len()), ours, "300 ms", spline, kriging);
    Ok(())
}

fn row(what: &str, mut ours: Vec<f64>, limit: &str, spline: Option<f64>, kriging: Option<f64>) {
    let other = |seconds: Option<f64>| {
        seconds.map_or_else(|| "-".to_owned(), |s| format!("{:.0} ms", 1e3 * s))
    };
    println!(
        "| {what} | {} ms | {limit} | {} | {} |",
        spread(&mut ours, 0),
        other(spline),
        other(kriging)
    );
}

/// Milliseconds of some rounds.
fn rounds(mut work: impl FnMut() -> usize) -> Vec<f64> {
    let mut one = || {
        let begin = Instant::now();
        std::hint::black_box(work());
        begin.elapsed().as_secs_f64() * 1e3
    };
    one();
    (0..ROUNDS).map(|_| one()).collect()
}

/// All counters of the routine with the most time.
fn projected(path: &Path) -> Result<Vec<Projected>, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{e}: `{}`", path.display()))?;
    let trace =
        paraver::read_bytes(&bytes, &paraver::Options::default()).map_err(|e| e.to_string())?;
    let choice = choose(&trace, &Wanted::default()).map_err(|e| e.to_string())?;
    let spans = regions::instances(&trace, choice.region);
    let probes = regions::probes(&trace, &spans);
    let counters = probes.counters();
    let selection = select(&spans.durations(), &SelectOptions::default());
    let first = selection.modes.first().ok_or("no instances")?;
    Ok(project(&spans.columns(), &probes.probes(&counters), first))
}

/// Many instances of a rate that steps and swings, with noise that wanders.
fn generated() -> Projected {
    let mut state = 1_u64;
    let mut unit = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (instances, samples) = MANY;
    let mut made =
        Projected { counter: "generated".into(), starts: vec![0], ..Projected::default() };
    let share = |x: f64| {
        let step = 0.8 * x + 0.5 * (x - 0.4004).max(0.0);
        let turn = std::f64::consts::TAU * 3.0;
        (step + 0.2 / turn * (1.0 - (turn * x).cos())) / (0.8 + 0.5 * 0.5996)
    };
    for at in 0..instances {
        let bend = 0.003 * (unit() - 0.5);
        let first = unit();
        for i in 0..samples {
            let x = (i as f64 + first) / samples as f64;
            made.x.push(x);
            made.y.push((share(x) + bend * (6.3 * x).sin()).clamp(0.0, 1.0));
        }
        made.starts.push(made.x.len());
        made.instances.push(at as u32);
        made.durations.push(Nanos(1_000_000_000));
        made.totals.push(1e6);
    }
    made
}

/// Seconds that a reference takes; absent without its libraries.
fn reference(which: &str, of: &Projected, folder: &Path) -> Option<f64> {
    use std::fmt::Write;
    let (script, columns) = (folder.join("reference.py"), folder.join("columns.txt"));
    let mut text = String::from("0 0\n");
    for (x, y) in of.x.iter().zip(&of.y) {
        let _ = writeln!(text, "{x} {y}");
    }
    text.push_str("1 1\n");
    std::fs::write(&script, SCRIPT).ok()?;
    std::fs::write(&columns, text).ok()?;
    let own = Path::new("target/python/bin/python3");
    let python = std::env::var_os("TALEA_PYTHON")
        .map(PathBuf::from)
        .or_else(|| own.is_file().then(|| own.to_owned()))
        .unwrap_or_else(|| "python3".into());
    let mut command = Command::new(python);
    command.arg(&script).arg(which).arg(&columns);
    output(&mut command).ok()?.trim().parse().ok()
}
