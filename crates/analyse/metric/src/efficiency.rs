//! Factors of efficiency, by the definitions of the POP centre of excellence.
//!
//! Owns the factors of one run from the time that each location computes, and between runs those of
//! scaling. Parallel efficiency is the mean time of computation divided by the elapsed time: load
//! balance (mean by longest) times communication efficiency (longest by elapsed). Where processes
//! have threads, it is also the efficiency of processes (time outside MPI of each process' first
//! thread) times that of threads. Follows "POP Standard Metrics for Parallel Performance Analysis";
//! factors that need a simulated network are absent. It refuses traces: see [`crate::measure`].

/// One location during the elapsed time of [`Run`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Number of its process, in any numbering.
    pub process: u32,
    /// Seconds of computation.
    pub useful: f64,
    /// Seconds outside MPI; `NaN` where unknown.
    pub outside_mpi: f64,
    /// Instructions of the computation; `NaN` where they were not counted.
    pub instructions: f64,
    /// Cycles of the computation; `NaN` where they were not counted.
    pub cycles: f64,
}

/// A run, or a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Elapsed seconds.
    pub elapsed: f64,
    /// One for each location; those of a process follow each other, its first thread first.
    pub shares: Vec<Share>,
    /// True if instructions and cycles were counted at different times, so that their quotient has
    /// no meaning.
    pub apart: bool,
}

/// Work of runs with more locations compared with the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// All runs do the same work.
    #[default]
    Strong,
    /// Work grows with the number of locations.
    Weak,
}

/// One factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Key for programs; it does not change.
    pub key: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Depth among the factors: the product of those below it is its value.
    pub depth: usize,
    /// The value, 1 is ideal; or the reason why it is unknown.
    pub value: Result<f64, String>,
}

/// All factors of a run, those of scaling against a reference where there is one.
pub fn factors(run: &Run, reference: Option<&Run>, scaling: Scaling) -> Vec<Factor> {
    let of = |key, name, depth, value| Factor { key, name, depth, value };
    let useful: Vec<f64> = run.shares.iter().map(|share| share.useful).collect();
    let whole = Efficiency::of(&useful, run.elapsed);
    let simulated = || {
        Err("needs the run on an ideal network, simulated from its messages; that is not done"
            .to_owned())
    };
    let outside = processes(run).map(|outside| Efficiency::of(&outside, run.elapsed));
    let part = |take: fn(&Efficiency) -> Result<f64, String>| match &outside {
        Ok(outside) => take(outside),
        Err(why) => Err(why.clone()),
    };
    let mpi = part(|outside| outside.parallel.clone());
    let threads = both(&whole.parallel, &mpi, |whole, mpi| whole / mpi, "no time outside MPI");
    let computation = computation(run, reference, scaling);
    let global = both(&whole.parallel, &computation[0], |parallel, scaling| parallel * scaling, "");
    let [scales, ipc, instructions, frequency] = computation;
    vec![
        of("global", "Global efficiency", 0, global),
        of("parallel", "Parallel efficiency", 1, whole.parallel),
        of("load_balance", "Load balance", 2, whole.balance),
        of("communication", "Communication efficiency", 2, whole.communication),
        of("serialisation", "Serialisation efficiency", 3, simulated()),
        of("transfer", "Transfer efficiency", 3, simulated()),
        of("mpi_parallel", "MPI parallel efficiency", 2, mpi),
        of("mpi_load_balance", "MPI load balance", 3, part(|outside| outside.balance.clone())),
        of(
            "mpi_communication",
            "MPI communication eff.",
            3,
            part(|outside| outside.communication.clone()),
        ),
        of("thread_parallel", "Thread parallel efficiency", 2, threads),
        of("computation_scaling", "Computation scaling", 1, scales),
        of("ipc_scaling", "IPC scaling", 2, ipc),
        of("instruction_scaling", "Instruction scaling", 2, instructions),
        of("frequency_scaling", "Frequency scaling", 2, frequency),
    ]
}

struct Efficiency {
    parallel: Result<f64, String>,
    balance: Result<f64, String>,
    communication: Result<f64, String>,
}

impl Efficiency {
    fn of(times: &[f64], elapsed: f64) -> Self {
        let most = times.iter().copied().fold(0.0, f64::max);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let quotient = |a: f64, b: f64, what: &str| {
            Some(a / b).filter(|value| value.is_finite()).ok_or_else(|| what.to_owned())
        };
        Self {
            parallel: quotient(mean, elapsed, "no time passed"),
            balance: quotient(mean, most, "no location computed"),
            communication: quotient(most, elapsed, "no time passed"),
        }
    }
}

/// Time outside MPI of each process, where threads distinguish it from computation.
fn processes(run: &Run) -> Result<Vec<f64>, String> {
    let groups = run.shares.chunk_by(|a, b| a.process == b.process);
    if groups.clone().all(|threads| threads.len() < 2) {
        return Err("every process has one thread: it is the parallel efficiency".to_owned());
    }
    let outside = groups.map(|threads| threads[0].outside_mpi);
    let known: Option<Vec<f64>> =
        outside.map(|time| Some(time).filter(|time| time.is_finite())).collect();
    known.ok_or_else(|| "the trace does not tell time in MPI".to_owned())
}

/// Computation scaling and its factors: IPC, instructions, frequency.
fn computation(run: &Run, reference: Option<&Run>, scaling: Scaling) -> [Result<f64, String>; 4] {
    let Some(reference) = reference else {
        return [0; 4].map(|_| Err("needs a run to compare with: name it first".to_owned()));
    };
    let sum = |run: &Run, of: fn(&Share) -> f64| run.shares.iter().map(of).sum::<f64>();
    let more = match scaling {
        Scaling::Strong => 1.0,
        Scaling::Weak => run.shares.len() as f64 / reference.shares.len() as f64,
    };
    let known = |value: f64, what: &str| {
        Some(value).filter(|value| value.is_finite() && *value > 0.0).ok_or_else(|| what.to_owned())
    };
    let pair = |of: fn(&Share) -> f64, what: &str| {
        Ok::<_, String>((known(sum(run, of), what)?, known(sum(reference, of), what)?))
    };
    let useful = pair(|share| share.useful, "no location computed");
    let instructions = pair(|share| share.instructions, "no instructions were counted");
    let cycles = pair(|share| share.cycles, "no cycles were counted");
    let quotients = |a: &Result<(f64, f64), String>, b: &Result<(f64, f64), String>| {
        let ((own, reference), (own_by, reference_by)) = (a.clone()?, b.clone()?);
        Ok((own / own_by) / (reference / reference_by))
    };
    let less = |pair: &Result<(f64, f64), String>| {
        pair.clone().map(|(own, reference)| reference * more / own)
    };
    [
        less(&useful),
        if run.apart || reference.apart {
            Err("instructions and cycles were counted at different times".to_owned())
        } else {
            quotients(&instructions, &cycles)
        },
        less(&instructions),
        quotients(&cycles, &useful),
    ]
}

fn both(
    a: &Result<f64, String>,
    b: &Result<f64, String>,
    of: impl Fn(f64, f64) -> f64,
    otherwise: &str,
) -> Result<f64, String> {
    let value = of(a.clone()?, b.clone()?);
    if value.is_finite() { Ok(value) } else { Err(otherwise.to_owned()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn share(process: u32, useful: f64) -> Share {
        Share {
            process,
            useful,
            outside_mpi: f64::NAN,
            instructions: useful * 2e9,
            cycles: useful * 1e9,
        }
    }

    fn value(factors: &[Factor], key: &str) -> Result<f64, String> {
        factors.iter().find(|factor| factor.key == key).unwrap().value.clone()
    }

    #[test]
    fn two_ranks_of_known_balance() {
        let run = Run { elapsed: 10.0, shares: vec![share(0, 8.0), share(1, 4.0)], apart: false };
        let found = factors(&run, None, Scaling::Strong);
        assert_eq!(value(&found, "parallel"), Ok(0.6));
        assert_eq!(value(&found, "load_balance"), Ok(0.75));
        assert_eq!(value(&found, "communication"), Ok(0.8));
        assert!(value(&found, "transfer").unwrap_err().contains("ideal network"));
        assert!(value(&found, "thread_parallel").unwrap_err().contains("one thread"));
        assert!(value(&found, "computation_scaling").unwrap_err().contains("compare"));
    }

    #[test]
    fn processes_with_threads() {
        let thread = |process, useful, outside_mpi| Share { outside_mpi, ..share(process, useful) };
        let shares = vec![
            thread(0, 8.0, 9.0),
            thread(0, 4.0, 10.0),
            thread(1, 6.0, 7.0),
            thread(1, 6.0, 10.0),
        ];
        let found = factors(&Run { elapsed: 10.0, shares, apart: false }, None, Scaling::Strong);
        assert_eq!(value(&found, "parallel"), Ok(0.6));
        assert_eq!(value(&found, "mpi_parallel"), Ok(0.8));
        assert_eq!(value(&found, "thread_parallel"), Ok(0.6 / 0.8));
    }

    #[test]
    fn scaling_is_compared_with_the_first() {
        let first = Run { elapsed: 10.0, shares: vec![share(0, 10.0)], apart: false };
        let mut more =
            Run { elapsed: 6.0, shares: vec![share(0, 6.0), share(1, 6.0)], apart: false };
        for share in &mut more.shares {
            share.instructions = 11e9;
        }
        let found = factors(&more, Some(&first), Scaling::Strong);
        assert_eq!(value(&found, "computation_scaling"), Ok(10.0 / 12.0));
        assert_eq!(value(&found, "instruction_scaling"), Ok(20.0 / 22.0));
        assert_eq!(value(&found, "frequency_scaling"), Ok(1.0));
        assert_eq!(value(&found, "global"), Ok(10.0 / 12.0));
        let weak = factors(&more, Some(&first), Scaling::Weak);
        assert_eq!(value(&weak, "computation_scaling"), Ok(20.0 / 12.0));
        more.shares[1].cycles = f64::NAN;
        let found = factors(&more, Some(&first), Scaling::Strong);
        assert_eq!(value(&found, "ipc_scaling"), Err("no cycles were counted".into()));
        assert!(value(&found, "global").is_ok());
    }

    #[test]
    fn nothing_has_no_efficiency() {
        let found =
            factors(&Run { elapsed: 0.0, shares: Vec::new(), apart: false }, None, Scaling::Strong);
        assert!(found.iter().all(|factor| factor.value.is_err()), "{found:?}");
        let idle = Run { elapsed: 1.0, shares: vec![share(0, 0.0)], apart: false };
        let found = factors(&idle, Some(&idle), Scaling::Strong);
        assert_eq!(value(&found, "parallel"), Ok(0.0));
        assert_eq!(value(&found, "load_balance"), Err("no location computed".into()));
    }

    proptest! {
        #[test]
        fn products_hold(
            useful in prop::collection::vec(0.1..9.0_f64, 1..20),
            other in prop::collection::vec(0.1..9.0_f64, 1..20)
        ) {
            let run = |useful: &[f64]| Run {
                elapsed: 10.0,
                shares: useful.iter().zip(0..).map(|(&useful, process)| Share {
                    instructions: useful * useful * 1e9,
                    cycles: useful * 2e9 + 1e9,
                    ..share(process, useful)
                }).collect(),
                apart: false,
            };
            let found = factors(&run(&useful), Some(&run(&other)), Scaling::Strong);
            let of = |key| value(&found, key).unwrap();
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs();
            prop_assert!(near(of("parallel"), of("load_balance") * of("communication")));
            prop_assert!(near(of("computation_scaling"), of("ipc_scaling") * of("instruction_scaling") * of("frequency_scaling")));
            prop_assert!(near(of("global"), of("parallel") * of("computation_scaling")));
        }
    }
}
