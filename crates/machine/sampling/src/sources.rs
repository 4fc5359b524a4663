//! Several sources behind one front.
//!
//! Owns who gives which counter (the first source that offers it), the clock (`CLOCK_MONOTONIC`),
//! and the order of numbers in [`Readings`], which is that of the question. A counter that no
//! source has is a gap with the reasons of all of them.

use rustix::time::{ClockId, clock_gettime};
use talea_metric::catalogue;
use talea_model::{GapKind, Gaps, Nanos};
use talea_topology::Readings;

use crate::perf::PerfSource;
use crate::proc::ProcSource;
use crate::root::Root;
use crate::source::{CounterSource, Offer, Offered, OpenError, Opened, Target, gap};

/// A set of sources.
#[derive(Default)]
pub struct Sources {
    all: Vec<Box<dyn CounterSource>>,
    /// For each counter: source and number within it.
    parts: Vec<Option<(usize, usize)>>,
    /// For each source a list for each of its counters.
    numbers: Vec<Vec<Vec<f64>>>,
    began: Nanos,
    last: Nanos,
    measures_here: bool,
}

impl Sources {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The kernel's own: texts of `/proc` and `/sys`, then perf events.
    pub fn of_machine() -> Self {
        let mut sources = Self { measures_here: true, ..Self::new() };
        sources.add(Box::new(ProcSource::new(Root::machine())));
        sources.add(Box::new(PerfSource::new(Root::machine())));
        sources
    }

    /// Whether the kernel's own counters of this machine are among them, rather than simulated ones
    /// alone.
    pub fn measure_here(&self) -> bool {
        self.measures_here
    }

    /// Adds a source; earlier ones are asked first.
    pub fn add(&mut self, source: Box<dyn CounterSource>) {
        self.all.push(source);
    }

    /// Names of the sources that give the counters of the last [`Sources::open`], in the order of
    /// the sources.
    pub fn in_use(&self) -> Vec<String> {
        let used = |at: usize| self.parts.iter().flatten().any(|&(source, _)| source == at);
        let sources = self.all.iter().enumerate();
        sources.filter(|&(at, _)| used(at)).map(|(_, source)| source.name().to_owned()).collect()
    }

    /// Description of a counter by the first source that has it, with the source's name.
    ///
    /// # Errors
    /// One sentence: why no source can read it here.
    pub fn offer(&self, counter: &str) -> Result<(String, Offered), String> {
        let (at, offered) = self.find(counter)?;
        Ok((self.all[at].name().to_owned(), offered))
    }

    fn find(&self, counter: &str) -> Result<(usize, Offered), String> {
        let mut reasons = Vec::new();
        for (at, source) in self.all.iter().enumerate() {
            match source.offers(counter) {
                Offer::Yes(offered) => return Ok((at, offered)),
                Offer::Refused(reason) => reasons.push(reason),
                Offer::No => {}
            }
        }
        if reasons.is_empty() {
            if let Some((other, reason)) = self.refused_parts(counter) {
                return Err(format!("it is computed from `{other}`: {reason}"));
            }
            let names: Vec<&str> = self.all.iter().map(|source| source.name()).collect();
            return Err(format!("no source knows it (asked: {})", names.join(", ")));
        }
        Err(reasons.join("; "))
    }

    /// The first counter that could give a derived one, such as a preset of PAPI, and the reason
    /// why it cannot be read here.
    fn refused_parts(&self, counter: &str) -> Option<(String, String)> {
        let others = catalogue::derived(counter);
        let mut parts = others.iter().flat_map(talea_metric::Expression::counters);
        parts.find_map(|part| {
            let refused = self.all.iter().find_map(|source| match source.offers(part) {
                Offer::Refused(reason) => Some(reason),
                _ => None,
            });
            refused.map(|reason| (part.clone(), reason))
        })
    }

    /// Names that any source knows, with the source's name; sorted by source, then by name.
    pub fn known(&self) -> Vec<(String, String)> {
        let mut known = Vec::new();
        for source in &self.all {
            let counters = source.known().into_iter();
            known.extend(counters.map(|counter| (source.name().to_owned(), counter)));
        }
        known
    }

    /// Begins to count; time is counted from now. Counters that cannot be had have no places, and a
    /// gap says why.
    ///
    /// # Errors
    /// If a source that offers a counter cannot open it after all, or the target is not there.
    pub fn open(
        &mut self,
        counters: &[String],
        target: &Target,
        gaps: &mut Gaps,
    ) -> Result<Vec<Opened>, OpenError> {
        let mut asked: Vec<Vec<String>> = vec![Vec::new(); self.all.len()];
        self.parts = Vec::with_capacity(counters.len());
        for counter in counters {
            let found = self.find(counter);
            self.parts.push(found.as_ref().ok().map(|&(at, _)| (at, asked[at].len())));
            match found {
                Ok((at, _)) => asked[at].push(counter.clone()),
                Err(reason) => gaps.note(gap(
                    GapKind::Unsupported,
                    format!("counter `{counter}` is not measured: {reason}"),
                )),
            }
        }
        let mut opened = Vec::with_capacity(asked.len());
        for (source, names) in self.all.iter_mut().zip(&asked) {
            // A source without counters closes what it had.
            opened.push(source.open(names, target, gaps)?);
        }
        let blank = |opened: &Opened| vec![f64::NAN; opened.places.len()];
        self.numbers = opened.iter().map(|all| all.iter().map(blank).collect()).collect();
        self.began = now();
        self.last = Nanos(0);
        let part = |part: &Option<(usize, usize)>| {
            part.and_then(|(at, i)| opened[at].get(i).cloned()).unwrap_or_default()
        };
        Ok(self.parts.iter().map(part).collect())
    }

    /// `CLOCK_MONOTONIC` when counting began; `Readings::at` counts from there.
    pub fn began(&self) -> Nanos {
        self.began
    }

    /// Reads all counters now.
    pub fn read(&mut self, gaps: &mut Gaps) -> Readings {
        let mut readings = Readings::default();
        self.read_into(&mut readings, gaps);
        readings
    }

    /// The same into readings that are there already, without allocating when they have the right
    /// shape.
    pub fn read_into(&mut self, readings: &mut Readings, gaps: &mut Gaps) {
        self.read_at(now() - self.began, readings, gaps);
    }

    /// The same at a time that the caller gives, since counting began: for sources that have no
    /// clock of their own.
    pub fn read_at(&mut self, at: Nanos, readings: &mut Readings, gaps: &mut Gaps) {
        for (source, numbers) in self.all.iter_mut().zip(&mut self.numbers) {
            if !numbers.is_empty() {
                source.read(at, numbers, gaps);
            }
        }
        readings.span = at - self.last;
        readings.at = at;
        self.last = at;
        readings.numbers.resize_with(self.parts.len(), Vec::new);
        for (out, part) in readings.numbers.iter_mut().zip(&self.parts) {
            out.clear();
            if let Some(numbers) = part.and_then(|(at, i)| self.numbers[at].get(i)) {
                out.extend_from_slice(numbers);
            }
        }
    }
}

/// `CLOCK_MONOTONIC`.
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use talea_topology::Place;

    use super::*;
    use crate::source::Scope;

    /// Has counters that begin with a letter, at two PUs, and reads the time in ns.
    struct Letter(char, usize);

    impl CounterSource for Letter {
        fn name(&self) -> &'static str {
            "letter"
        }
        fn offers(&self, counter: &str) -> Offer {
            match counter.starts_with(self.0) {
                true if counter.ends_with('!') || counter == "instructions" => {
                    Offer::Refused(format!("`{}` is shy", self.0))
                }
                true => Offer::Yes(Offered::gauge(Scope::Pu, "")),
                false => Offer::No,
            }
        }
        fn known(&self) -> Vec<String> {
            vec![format!("{}1", self.0)]
        }
        fn open(
            &mut self,
            counters: &[String],
            _: &Target,
            _: &mut Gaps,
        ) -> Result<Vec<Opened>, OpenError> {
            self.1 = counters.len();
            let places = vec![Place::Pu(0), Place::Pu(1)];
            Ok(vec![Opened { places }; counters.len()])
        }
        fn read(&mut self, at: Nanos, numbers: &mut [Vec<f64>], _: &mut Gaps) {
            assert_eq!(numbers.len(), self.1);
            for (i, numbers) in numbers.iter_mut().enumerate() {
                numbers.fill(at.0 as f64 + i as f64);
            }
        }
    }

    #[test]
    fn this_machine() {
        let mut sources = Sources::of_machine();
        let mut gaps = Gaps::default();
        let counters = ["mem:used", "nonsense", "proc:busy"].map(str::to_owned);
        let opened = sources.open(&counters, &Target::Machine, &mut gaps).unwrap();
        assert!(opened[1].places.is_empty());
        assert_eq!(sources.in_use(), ["proc"]);
        let mut readings = sources.read(&mut gaps);
        let first = readings.at;
        sources.read_into(&mut readings, &mut gaps);
        assert_eq!(readings.at, first + readings.span);
        for (opened, numbers) in opened.iter().zip(&readings.numbers) {
            assert_eq!(opened.places.len(), numbers.len());
            assert!(numbers.iter().all(|number| *number >= 0.0), "{readings:?}");
        }
        assert_eq!(gaps.iter().count(), 1, "{gaps:?}");
    }

    #[test]
    fn derived_counters_have_the_reason_of_their_parts() {
        let mut sources = Sources::new();
        sources.add(Box::new(Letter('a', 0)));
        sources.add(Box::new(Letter('i', 0)));
        assert_eq!(
            sources.offer("PAPI_TOT_INS").unwrap_err(),
            "it is computed from `instructions`: `i` is shy"
        );
        let unknown = sources.offer("nonsense").unwrap_err();
        assert_eq!(unknown, "no source knows it (asked: letter, letter)");
    }

    #[test]
    fn numbers_stand_in_the_order_of_the_question() {
        let mut sources = Sources::new();
        sources.add(Box::new(Letter('a', 0)));
        sources.add(Box::new(Letter('b', 0)));
        let mut gaps = Gaps::default();
        let counters = ["b1", "a1", "c", "a2", "a!"].map(str::to_owned);
        let opened = sources.open(&counters, &Target::Machine, &mut gaps).unwrap();
        assert_eq!(opened.iter().map(|o| o.places.len()).collect::<Vec<_>>(), [2, 2, 0, 2, 0]);
        let details: Vec<&str> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
        assert_eq!(
            details,
            [
                "counter `a!` is not measured: `a` is shy",
                "counter `c` is not measured: no source knows it (asked: letter, letter)",
            ]
        );
        let mut readings = Readings::default();
        sources.read_at(Nanos(10), &mut readings, &mut gaps);
        sources.read_at(Nanos(30), &mut readings, &mut gaps);
        assert_eq!((readings.at, readings.span), (Nanos(30), Nanos(20)));
        let firsts: Vec<_> = readings.numbers.iter().map(|n| n.first().copied()).collect();
        assert_eq!(firsts, [Some(30.0), Some(30.0), None, Some(31.0), None]);
        assert_eq!(sources.offer("b9").map(|(name, _)| name), Ok("letter".to_owned()));
        assert_eq!(sources.known().len(), 2);
    }
}
