//! Tests of recorded counters of ports: round trips, cut files, wrong lines and times that
//! decrease. Any text must be read or refused.

use proptest::prelude::*;

use super::text::{ROLES, UNITS};
use super::*;
use crate::fabric::{PortKind, Reading, Unit, Width};

/// A source of what is given.
struct Given(Vec<Port>);

impl CounterSource for Given {
    fn name(&self) -> &'static str {
        "given ones"
    }
    fn ports(&self) -> &[Port] {
        &self.0
    }
    fn read(&mut self, _: Nanos, _: &mut Gaps) -> Option<Readings> {
        None
    }
}

const TEXT: &str = "\
# From a machine.
talea-fabric-counters 1
source sysfs of n17   # a name
set
counter tx_bytes sent 1B 64 wraps
counter tx_waited sent-stalled 0Hz 32 stops
port eth0 ethernet 0 1.25e8 up
port eth1 ethernet 0 - -

at 1000
4711 -
12@900 7
at 2000
4712 4294967295
13@1900 8
";

fn all(text: &str) -> (Vec<Readings>, Gaps) {
    let mut recorded = Recorded::new(text.to_owned()).unwrap();
    let mut gaps = Gaps::default();
    let readings = std::iter::from_fn(|| recorded.read(Nanos(5), &mut gaps)).collect();
    (readings, gaps)
}

#[test]
fn what_was_recorded_comes_back() {
    let recorded = Recorded::new(TEXT.to_owned()).unwrap();
    assert_eq!(recorded.name(), "recorded sysfs of n17");
    let ports = recorded.ports();
    assert_eq!((ports[0].speed, ports[1].speed), (Some(1.25e8), None));
    assert_eq!((ports[0].state.as_deref(), ports[1].state.as_deref()), (Some("up"), None));
    assert_eq!(ports[0].counters[1].width.largest(), u64::from(u32::MAX));
    let (readings, gaps) = all(TEXT);
    assert!(gaps.is_empty() && readings.len() == 2, "{gaps:?}");
    let reading = |at, value| Some(Reading { at: Nanos(at), value });
    assert_eq!(readings[0].port(0), [reading(1000, 4711), None]);
    assert_eq!(readings[1].port(1), [reading(1900, 13), reading(2000, 8)]);
    assert_eq!(readings[1].port(2), []);
}

#[test]
fn a_cut_recording_says_where() {
    let (readings, gaps) = all(TEXT.strip_suffix("13@1900 8\n").unwrap());
    assert_eq!(readings.len(), 1);
    let said: Vec<_> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(said, ["the recording ends early: line 15: expected a line for each port"]);
}

#[test]
fn a_last_line_without_its_end_is_no_number() {
    // `4712 42949` is a total for each counter, too.
    let cut = &TEXT[..TEXT.len() - "13@1900 8\n".len()];
    for text in [&cut[..cut.len() - 1], &cut[..cut.len() - 6], &TEXT[..TEXT.len() - 1]] {
        let (readings, gaps) = all(text);
        let said: Vec<_> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
        assert_eq!((readings.len(), said.len()), (1, 1), "{said:?}");
        assert!(said[0].ends_with("expected the end of the line: the file was cut"), "{said:?}");
    }
}

#[test]
fn times_that_do_not_grow_are_said() {
    let reading = |at: u64, value: u64| format!("at {at}\n{value} 0\n{value} 0\n");
    let head = &TEXT[..TEXT.find("at 1000").unwrap()];
    let times = [5, 9, 7, 8, 9, 12].map(|at| reading(at, at));
    let (readings, gaps) = all(&format!("{head}{}", times.concat()));
    let first = |readings: &Readings| readings.port(0)[0].unwrap().at.0;
    assert_eq!(readings.iter().map(first).collect::<Vec<_>>(), [5, 9, 9, 12]);
    let said: Vec<_> = gaps.iter().map(talea_model::Gap::sentence).collect();
    assert_eq!(
        said,
        [
            "readings are left out whose times lie before those of earlier ones, first in line 16 (2)",
            "times of readings do not grow: shares of these intervals are absent, first in line 22 (1)"
        ]
    );
}

#[test]
fn times_of_a_counter_that_run_backwards() {
    let port = &Recorded::new(TEXT.to_owned()).unwrap().ports[0];
    let [before, after] = [900, 899].map(|at| Reading { at: Nanos(at), value: at });
    let mut gaps = Gaps::default();
    assert_eq!(port.counters[0].grown("eth0", before, after, &mut gaps), None);
    let said = "times of counter `tx_bytes` of port `eth0` ran backwards: its difference is absent";
    assert_eq!(gaps.iter().next().unwrap().detail, said);
    assert_eq!(port.counters[0].grown("eth0", after, before, &mut gaps), Some(1));
}

#[test]
fn lines_that_are_wrong() {
    let check = |from: &str, to: &str, line, expected: &str| {
        let error = Recorded::new(TEXT.replace(from, to)).unwrap_err();
        assert_eq!(error.line, line, "{to}: {error}");
        assert!(error.expected.contains(expected), "{to}: {error}");
    };
    check("counters 1", "counters 2", 2, "talea-fabric-counters 1");
    check("1B", "B", 5, "UNIT");
    check("64 wraps", "65 wraps", 5, "BITS");
    check("wraps", "stays", 5, "stops");
    check("set\n", "", 4, "in a set");
    check("ethernet 0 -", "ethernet 1 -", 8, "SET");
    check("1.25e8", "-1", 7, "SPEED");
    check("port eth1", "door eth1", 8, "`port`");
    check("port eth1", "port eth0", 8, "not listed before");
    check("tx_waited", "tx_bytes", 6, "does not have yet");
    for speed in ["1e300", "1e-300", "NaN", "inf", "0"] {
        check("1.25e8", speed, 7, "SPEED");
    }
    let cut = |from: &str, to: &str| all(&TEXT.replace(from, to)).0.len();
    assert_eq!(cut("4711 -", "4711"), 0);
    assert_eq!(cut("4711 -", "4711 - 3"), 0);
    assert_eq!(cut("at 2000", "at noon"), 1);
    assert_eq!(cut("4294967295", "4294967296"), 1);
}

fn any_counter() -> impl Strategy<Value = Counter> {
    let named = prop::sample::select(UNITS.map(|(_, unit)| (unit, None)).to_vec());
    let known = |hertz: &u32| *hertz != 800_000_000;
    let ticks = prop::option::of((1_u32..).prop_filter("a unit of its own", known));
    let unit = prop_oneof![named, ticks.prop_map(|hertz| (Unit::Ticks, hertz))];
    let width = prop_oneof![(1_u8..=64).prop_map(Width::Wraps), (1_u8..=64).prop_map(Width::Stops)];
    let role = prop::sample::select(ROLES.map(|(_, role)| role).to_vec());
    ("[a-z_0-9]{1,9}", role, unit, width).prop_map(|(name, role, (unit, hertz), width)| Counter {
        name,
        role,
        unit,
        hertz,
        width,
    })
}

/// A set has a counter once.
fn of_one_name(mut counters: Vec<Counter>) -> Vec<Counter> {
    let mut names = std::collections::HashSet::new();
    counters.retain(|counter| names.insert(counter.name.clone()));
    counters
}

prop_compose! {
    fn any_ports()(
        ports in prop::collection::vec(
            (
                prop::collection::vec(any_counter(), 1..4),
                any::<prop::sample::Index>(),
                prop::option::of(1e-3..1e12)
            ),
            1..5,
        ),
    ) -> Vec<Port> {
        let port = |(at, (counters, kind, speed)): (
            usize,
            (Vec<Counter>, prop::sample::Index, Option<f64>)
        )| Port {
            name: format!("p{at}/1"),
            kind: PortKind::ALL[kind.index(PortKind::ALL.len())],
            speed,
            state: speed.map(|_| "up".to_owned()),
            counters: of_one_name(counters).into(),
        };
        ports.into_iter().enumerate().map(port).collect()
    }
}

/// Names are shown on terminals, where a control byte is an order.
#[test]
fn names_bring_no_control_bytes() {
    let text = format!(
        "{MAGIC}\nsource a\x1b[2J b\nset\ncounter \x07c sent 1B 64 wraps\nport p\x1b[31m ethernet 0 - up\x08\n"
    );
    let recorded = Recorded::new(text).unwrap();
    let port = &recorded.ports()[0];
    let shown =
        [recorded.name(), &port.name, port.state.as_deref().unwrap(), &port.counters[0].name];
    assert_eq!(shown, ["recorded a_[2J b", "p_[31m", "up_", "_c"]);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        ports in any_ports(),
        values in prop::collection::vec(prop::option::of((any::<u64>(), 0_u64..3)), 12),
    ) {
        let mut readings = Readings::absent(&ports);
        let mut values = values.into_iter();
        for (at, port) in ports.iter().enumerate() {
            for (reading, counter) in readings.port_mut(at).iter_mut().zip(&*port.counters) {
                let value = values.next().flatten();
                *reading = value.map(
                    |(value, at)| Reading { at: Nanos(at), value: value & counter.width.largest() }
                );
            }
        }
        let given = Given(ports);
        let text = head(&given) + &totals(&given.0, Nanos(1), &readings);
        let mut recorded = Recorded::new(text).unwrap();
        prop_assert_eq!(recorded.name(), "recorded given ones");
        prop_assert_eq!(recorded.ports(), &*given.0);
        let mut gaps = Gaps::default();
        prop_assert_eq!(recorded.read(Nanos(0), &mut gaps), Some(readings));
        prop_assert_eq!(recorded.read(Nanos(0), &mut gaps), None);
        prop_assert!(gaps.is_empty());
    }

    #[test]
    fn no_text_does_harm(lines in prop::collection::vec("(set|counter a sent 1B 64 wraps|port a ethernet 0 - -|at 1|1|-|.{0,12})", 0..12)) {
        let text = format!("{MAGIC}\n{}", lines.join("\n"));
        if let Ok(mut recorded) = Recorded::new(text) {
            let mut gaps = Gaps::default();
            for _ in 0..12 {
                recorded.read(Nanos(0), &mut gaps);
            }
        }
    }
}
