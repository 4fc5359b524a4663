//! Resources of the agent itself: processor time and memory, and their limits.
//!
//! Owns the measurement, by `schedstat` and `statm` of the own process, see proc(5), and the
//! judgement. What to do about it, the loop decides: it looks less often at what was sampled.

use std::fs;
use std::time::Duration;

/// Limits of the agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Processor time in parts of one core.
    pub processor: f64,
    /// Resident memory in bytes.
    pub memory: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { processor: 0.01, memory: 64 << 20 }
    }
}

/// Resources used since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Processor time of all its threads.
    pub processor: Duration,
    /// Resident memory now, in bytes.
    pub memory: u64,
    /// The most that it was, in bytes; as now where the system does not say.
    pub most_memory: u64,
}

impl Cost {
    /// That of this process; nothing where `/proc` is not there.
    pub fn now() -> Option<Self> {
        let processor = of_stat(&fs::read_to_string("/proc/self/schedstat").ok()?)?;
        let memory = of_statm(&fs::read_to_string("/proc/self/statm").ok()?)?;
        // Read a moment later, and counted more coarsely: never less than now.
        let most = fs::read_to_string("/proc/self/status").ok().and_then(|text| of_status(&text));
        Some(Self { processor, memory, most_memory: most.unwrap_or(memory).max(memory) })
    }

    /// The limit of `budget` that is exceeded between `before` and now, as a sentence for people;
    /// `None` if none is.
    pub fn exceeds(&self, before: &Self, passed: Duration, budget: &Budget) -> Option<String> {
        let took = self.processor.saturating_sub(before.processor).as_secs_f64();
        let share = took / passed.as_secs_f64().max(1e-9);
        if share > budget.processor {
            return Some(format!(
                "the agent took {:.2} % of a core, more than the {:.2} % that it may take",
                share * 100.0,
                budget.processor * 100.0
            ));
        }
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        (self.memory > budget.memory).then(|| {
            let (has, may) = (mib(self.memory), mib(budget.memory));
            format!("the agent has {has:.1} MiB, more than the {may:.1} MiB that it may have")
        })
    }
}

/// Nanoseconds on a core are the first number of schedstat: of the main thread, which does all the
/// work.
fn of_stat(text: &str) -> Option<Duration> {
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

/// The most resident memory, in a line such as `VmHWM:    6012 kB`.
fn of_status(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

fn of_statm(text: &str) -> Option<u64> {
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_costs_something() {
        let cost = Cost::now().unwrap();
        assert!(cost.memory > 100_000 && cost.most_memory >= cost.memory, "{cost:?}");
        assert_eq!(of_status("VmPeak:\t 9 kB\nVmHWM:\t    6012 kB\n"), Some(6012 << 10));
        assert_eq!(of_status("VmHWM:\t-1 kB\n"), None);
        assert_eq!(of_statm("1"), None);
        assert_eq!(of_stat(""), None);
        assert_eq!(of_stat("1500 7 3"), Some(Duration::from_nanos(1500)));
    }

    fn cost(processor: Duration, memory: u64) -> Cost {
        Cost { processor, memory, most_memory: memory }
    }

    #[test]
    fn what_is_too_much_is_told() {
        let budget = Budget { processor: 0.01, memory: 10 << 20 };
        let before = cost(Duration::from_millis(100), 1 << 20);
        let second = Duration::from_secs(1);
        let cheap = cost(Duration::from_millis(105), 1 << 20);
        assert_eq!(cheap.exceeds(&before, second, &budget), None);
        let busy = cost(Duration::from_millis(130), 1 << 20);
        assert_eq!(
            busy.exceeds(&before, second, &budget).unwrap(),
            "the agent took 3.00 % of a core, more than the 1.00 % that it may take"
        );
        let large = cost(Duration::from_millis(100), 20 << 20);
        assert!(large.exceeds(&before, second, &budget).unwrap().contains("20.0 MiB"));
    }
}
