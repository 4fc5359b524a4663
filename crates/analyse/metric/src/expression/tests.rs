//! Round trips, hostile texts, and a reference evaluator that walks a tree.

use proptest::prelude::*;

use super::*;

/// An expression as a tree, the shape that the crate itself refuses.
#[derive(Clone, Debug)]
enum Tree {
    Number(f64),
    Counter(&'static str),
    Negate(Box<Tree>),
    Two(&'static str, Box<Tree>, Box<Tree>),
    Choice(Box<Tree>, Box<Tree>, Box<Tree>),
    Has(&'static str),
    Call(&'static str, Vec<Tree>),
}

const COUNTERS: [&str; 8] = [
    "#smt_on",
    "topdown-retiring",
    "cycles",
    "PAPI_L2_TCM",
    "cpu/cache-misses/",
    "perf::INSTRUCTIONS:u=1",
    "LLC-load-misses",
    "net:*:rx_bytes",
];

const SIGNS: [&str; 11] = ["+", "-", "*", "/", "%", "<", ">=", "!=", "&", "^", "|"];

impl Tree {
    /// The text with all parentheses.
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Counter(name) if name.contains('/') || name.starts_with("topdown") => {
                format!("\"{name}\"")
            }
            Self::Counter(name) => (*name).to_owned(),
            Self::Negate(a) => format!("-({})", a.text()),
            Self::Two(sign, a, b) => format!("({}){sign}({})", a.text(), b.text()),
            Self::Choice(a, c, b) => format!("({})if({})else({})", a.text(), c.text(), b.text()),
            Self::Has(name) => format!("has_event({})", Self::Counter(name).text()),
            Self::Call(name, arguments) => {
                let arguments: Vec<_> = arguments.iter().map(Self::text).collect();
                format!("{name}({})", arguments.join(","))
            }
        }
    }

    /// The value; `None` is absent.
    fn value(&self, numbers: &[f64]) -> Option<f64> {
        let value = match self {
            Self::Number(number) => *number,
            Self::Counter(name) => numbers[COUNTERS.iter().position(|known| known == name)?],
            Self::Negate(a) => -a.value(numbers)?,
            Self::Two(sign, a, b) => {
                let (a, b) = (a.value(numbers)?, b.value(numbers)?);
                let whole = |value: f64| (value.abs() < 9.2e18).then_some(value as i64);
                match *sign {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => return (b != 0.0).then(|| a / b).filter(|value| value.is_finite()),
                    "%" => whole(a)?.checked_rem(whole(b)?)? as f64,
                    "<" => f64::from(a < b),
                    ">=" => f64::from(a >= b),
                    "!=" => f64::from(a.total_cmp(&b).is_ne() && !(a == 0.0 && b == 0.0)),
                    "&" => (whole(a)? & whole(b)?) as f64,
                    "^" => (whole(a)? ^ whole(b)?) as f64,
                    _ => (whole(a)? | whole(b)?) as f64,
                }
            }
            Self::Choice(a, c, b) => {
                return if c.value(numbers)? == 0.0 { b.value(numbers) } else { a.value(numbers) };
            }
            Self::Has(name) => {
                let number = numbers[COUNTERS.iter().position(|known| known == name)?];
                f64::from(number.is_finite())
            }
            Self::Call(name, arguments) => {
                let values: Option<Vec<f64>> = arguments.iter().map(|a| a.value(numbers)).collect();
                let values = values?.into_iter();
                match *name {
                    "min" => values.fold(f64::INFINITY, f64::min),
                    "max" => values.fold(f64::NEG_INFINITY, f64::max),
                    "d_ratio" => {
                        let both: Vec<f64> = values.collect();
                        if both[1] == 0.0 { 0.0 } else { both[0] / both[1] }
                    }
                    "abs" => values.sum::<f64>().abs(),
                    "sqrt" => values.sum::<f64>().sqrt(),
                    _ => values.sum::<f64>().log2(),
                }
            }
        };
        Some(value).filter(|value| value.is_finite())
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let number = prop_oneof![
        Just(0.0),
        Just(1.0),
        Just(0.5),
        (0.0..1e6_f64),
        Just(1e-9),
        Just(1e300),
        Just(123_456_789_012_345_680_000.0)
    ];
    let leaf = prop_oneof![
        1 => number.prop_map(Tree::Number),
        3 => prop::sample::select(COUNTERS.as_slice()).prop_map(Tree::Counter)
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(Tree::Negate),
            (prop::sample::select(SIGNS.as_slice()), boxed.clone(), boxed.clone())
                .prop_map(|(sign, a, b)| Tree::Two(sign, a, b)),
            (boxed.clone(), boxed.clone(), boxed).prop_map(|(a, c, b)| Tree::Choice(a, c, b)),
            prop::sample::select(COUNTERS.as_slice()).prop_map(Tree::Has),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Tree::Call("d_ratio", vec![a, b])),
            (
                prop::sample::select(["min", "max"].as_slice()),
                prop::collection::vec(inner.clone(), 2..4)
            )
                .prop_map(|(name, all)| Tree::Call(name, all)),
            (prop::sample::select(["abs", "sqrt", "log2"].as_slice()), inner)
                .prop_map(|(name, one)| Tree::Call(name, vec![one])),
        ]
    })
}

fn numbers() -> impl Strategy<Value = Vec<f64>> {
    let number = prop_oneof![Just(0.0), Just(f64::NAN), -1e3..1e12_f64, Just(f64::INFINITY)];
    prop::collection::vec(number, COUNTERS.len())
}

proptest! {
    #[test]
    fn values_are_those_of_the_tree(tree in trees(), numbers in numbers()) {
        // Parts that can never have a value are refused; then there is nothing to compare.
        if let Ok(expression) = Expression::parse(&tree.text()) {
            let inputs: Vec<f64> = expression
                .counters()
                .iter()
                .map(|name| numbers[COUNTERS.iter().position(|known| known == name).unwrap()])
                .collect();
            let finite: Vec<f64> =
                numbers.iter().map(|&n| if n.is_finite() { n } else { f64::NAN }).collect();
            let value = expression.eval(&inputs);
            prop_assert!(!value.is_infinite());
            prop_assert_eq!((!value.is_nan()).then_some(value), tree.value(&finite));
            let explained = expression.explained(&inputs);
            prop_assert_eq!(
                explained.as_ref().ok().copied(),
                tree.value(&finite),
                "{:?}",
                explained
            );
        }
    }

    #[test]
    fn rows_are_evaluated_as_one_by_one(
        tree in trees(),
        columns in prop::collection::vec(numbers(), 0..5)
    ) {
        if let Ok(expression) = Expression::parse(&tree.text()) {
            let (rows, counters) = (columns.len(), expression.counters().len());
            let packed: Vec<f64> =
                (0..counters).flat_map(
                    |counter| columns.iter().map(move |row| row[counter])
                ).collect();
            let (mut scratch, mut values) = (vec![1.0; 3], vec![7.0]);
            expression.eval_rows(&packed, rows, &mut scratch, &mut values);
            let one_by_one = columns.iter().map(|row| expression.eval(row).to_bits());
            let expected: Vec<u64> = std::iter::once(7.0_f64.to_bits()).chain(one_by_one).collect();
            prop_assert_eq!(values.into_iter().map(f64::to_bits).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn texts_come_back(tree in trees()) {
        if let Ok(expression) = Expression::parse(&tree.text()) {
            let text = expression.to_string();
            prop_assert_eq!(Expression::parse(&text), Ok(expression), "{}", text);
        }
    }

    #[test]
    fn any_text_is_read_or_refused_inside_it(text in "([-+*/(),.$:=\"a-c0-9kMe_ é\n%<>&|^@#\\\\]|if |else ){0,60}") {
        match Expression::parse_with(&text, &["a".into(), "b".into()]) {
            Ok(parsed) => prop_assert_eq!(parsed.spans.len(), parsed.expression.counters().len()),
            Err(error) => {
                prop_assert!(text.get(error.span.clone()).is_some(), "{:?}", error);
            }
        }
    }

    #[test]
    fn any_characters_do_no_harm(text in "\\PC{0,40}") {
        let _ = Expression::parse(&text);
    }

    #[test]
    fn replacing_is_evaluating_in_two_steps(
        outer in trees(),
        inner in trees(),
        numbers in numbers()
    ) {
        let inner = Expression::parse(&inner.text());
        // `has_event` tests the counter, not its replacement.
        let asked = outer.text().contains("has_event(cycles)");
        if let (Ok(outer), Ok(inner), false) = (Expression::parse(&outer.text()), inner, asked) {
            let Ok(whole) = outer.replace(|name| (name == "cycles").then_some(&inner)) else {
                return Ok(());
            };
            let number = |name: &String| numbers[
                COUNTERS.iter().position(|known| known == name).unwrap()
            ];
            let of_inner = inner.eval(&inner.counters().iter().map(number).collect::<Vec<_>>());
            let two_steps: Vec<f64> = outer
                .counters()
                .iter()
                .map(|name| if name == "cycles" { of_inner } else { number(name) })
                .collect();
            let at_once = whole.eval(&whole.counters().iter().map(number).collect::<Vec<_>>());
            prop_assert_eq!(at_once.to_bits(), outer.eval(&two_steps).to_bits());
            prop_assert_eq!(Expression::parse(&whole.to_string()), Ok(whole));
        }
    }
}

fn value(text: &str) -> Option<f64> {
    Expression::parse(text).unwrap().constant()
}

#[test]
fn arithmetic() {
    assert_eq!(value("1 + 2 * 3 - 4 / 2"), Some(5.0));
    assert_eq!(value("8 / 4 / 2 - 1 - 1"), Some(-1.0));
    assert_eq!(value("-2 * -(3 - 1)"), Some(4.0));
    assert_eq!(value("1k + 2M + 1.5G + 1e3 + 1E-3"), Some(1_502_002_000.001));
    assert_eq!(value("min(3, 1, 2) + max(1, 2) + abs(-4) + sqrt(9) + log2(8)"), Some(13.0));
    assert_eq!(value(".5 + 1."), Some(1.5));
}

#[test]
fn names() {
    let counters = |text| Expression::parse(text).unwrap().counters().to_vec();
    assert_eq!(counters("PAPI_L2_TCM/PAPI_L2_TCA"), ["PAPI_L2_TCM", "PAPI_L2_TCA"]);
    assert_eq!(counters("PAPI L2 TCM/PAPI L2 TCA"), ["PAPI_L2_TCM", "PAPI_L2_TCA"]);
    assert_eq!(counters("a-b+a*b"), ["a", "b"]);
    assert_eq!(counters("net:*:x*ib:*:*:y"), ["net:*:x", "ib:*:*:y"]);
    assert_eq!(counters("LLC-load-misses-L1-dcache-loads"), ["LLC-load-misses", "L1-dcache-loads"]);
    assert_eq!(counters("proc:context-switches:u/x"), ["proc:context-switches:u", "x"]);
    assert_eq!(counters("\"cpu/cache-misses/\"/min"), ["cpu/cache-misses/", "min"]);
    assert_eq!(
        counters("amd64_fam17h::RETIRED_INSTRUCTIONS:u=1/net:eth0.7:rx_bytes"),
        ["amd64_fam17h::RETIRED_INSTRUCTIONS:u=1", "net:eth0.7:rx_bytes"]
    );
    let list = ["c".to_owned(), "i".to_owned()];
    let parsed = Expression::parse_with("$1/$0", &list).unwrap();
    assert_eq!(parsed.expression, Expression::parse("i/c").unwrap());
    assert_eq!(parsed.spans, [0..2, 3..5]);
}

#[test]
fn events_as_linux_writes_them() {
    let counters = |text: &str| Expression::parse(text).unwrap().counters().to_vec();
    let one = r"cpu@INST_DECODED.DECODERS\,cmask\=1@ - cpu@event=0x3c,umask=0x0@ / 2";
    assert_eq!(counters(one), ["cpu/INST_DECODED.DECODERS,cmask=1/", "cpu/event=0x3c,umask=0x0/"]);
    assert_eq!(counters("cpu/event=0x3c,umask=0x0/u / b"), ["cpu/event=0x3c,umask=0x0/u", "b"]);
    assert_eq!(
        counters(r"cstate_core@c1\-residency@ / msr@tsc@"),
        ["cstate_core/c1-residency/", "msr/tsc/"]
    );
    assert_eq!(counters(r"topdown\-retiring / slots"), ["topdown-retiring", "slots"]);
    assert_eq!(
        counters(r"OCR.DEMAND_RFO.L3_MISS@offcore_rsp\=0x103b800002@ * INST_RETIRED.ANY:k"),
        ["OCR.DEMAND_RFO.L3_MISS/offcore_rsp=0x103b800002/", "INST_RETIRED.ANY:k"]
    );
    assert_eq!(counters("a/b==c/d"), ["a", "b", "c", "d"]);
    assert_eq!(counters("a/b<=c/d"), ["a", "b", "c", "d"]);
    assert_eq!(counters("#SMT_On + #num_cpus"), ["#smt_on", "#num_cpus"]);
    assert_eq!(
        counters("source_count(UNC_CHA.X) * strcmp_cpuid_str(0x410FD493)"),
        ["source_count(UNC_CHA.X)", "strcmp_cpuid_str(0x410fd493)"]
    );
    let text = "(PAPI L2 TCM if #core_wide < 1 else PAPI L2 TCA)";
    assert_eq!(counters(text), ["PAPI_L2_TCM", "#core_wide", "PAPI_L2_TCA"]);
}

#[test]
fn precedence_is_that_of_linux() {
    assert_eq!(value("1 if 0 else 2 if 1 else 3"), Some(2.0));
    assert_eq!(value("1 + 1 if 2 > 1 & 1 else 5"), Some(2.0));
    assert_eq!(value("1 | 2 ^ 3 & 2"), Some(1.0));
    assert_eq!(value("7 % 4 * 2 < 7"), Some(1.0));
    assert_eq!(value("d_ratio(4, 0) + d_ratio(4, 8)"), Some(0.5));
    assert_eq!(value("(1 if 1 else 0) + max(2 if 0 else 4, 3)"), Some(5.0));
    assert_eq!(value("0x1F + (1 == 1) + (2 != 2) + (1 && 1) + (0 || 0)"), Some(33.0));
    let text = |text: &str| Expression::parse(text).unwrap().to_string();
    assert_eq!(
        text("(a if b else c) if d else (e if f else g)"),
        "(a if b else c) if d else e if f else g"
    );
    assert_eq!(text("(a|b)&c"), "(a | b) & c");
}

#[test]
fn reasons_name_what_is_missing() {
    let why = |text: &str| {
        let number = |name: &str| match name {
            "zero" => Some(0.0),
            "one" => Some(1.0),
            "infinite" => Some(f64::INFINITY),
            _ => None,
        };
        Expression::parse(text).unwrap().value(number).map_err(|why| why.to_string())
    };
    assert_eq!(why("one + b / c"), Err("no b, c".into()));
    assert_eq!(why("one / (zero * 2)"), Err("division by zero: zero * 2 is 0".into()));
    assert_eq!(why("one if one else b"), Ok(1.0));
    assert_eq!(why("one if b else one"), Err("no b".into()));
    assert_eq!(why("has_event(b) + has_event(one)"), Ok(1.0));
    assert_eq!(why("log2(zero)"), Err("no number comes out".into()));
    assert_eq!(why("infinite"), Err("no infinite".into()));
    assert_eq!(why("a+b+c+d+e+f"), Err("no a, b, c, d and 2 more".into()));
}

#[test]
fn absent_is_absent() {
    let of = |text: &str, numbers: &[f64]| Expression::parse(text).unwrap().eval(numbers);
    assert!(of("a / b", &[1.0, 0.0]).is_nan());
    assert!(of("0 * a", &[f64::NAN]).is_nan());
    assert!(of("min(a, 1)", &[f64::NAN]).is_nan());
    assert!(of("max(1, a)", &[f64::NAN]).is_nan());
    assert!(of("a + b", &[1.0]).is_nan());
    assert!(of("1 / a", &[f64::INFINITY]).is_nan());
    assert!(of("log2(a)", &[0.0]).is_nan());
    assert!(of("a * 1e300", &[1e300]).is_nan());
}

#[test]
fn mistakes_name_their_place() {
    let mistakes: Vec<String> = [
        "",
        "a +",
        "a b",
        "a ? b",
        "(a",
        "a)",
        "\"a",
        "\"\"",
        "2x",
        "1e999",
        "$0",
        "a * (1 - 1) / (2 - 2)",
        "a / 0",
        "sqrt(-1) * a",
        "min(a)",
        "abs(a, b)",
        "a, b",
        "a + / b",
        "$99999999999999999999999",
        "cpu/cache-misses/",
        "a if b",
        "a else b",
        "(a if b) + 1",
        "min(a if b, c)",
        "if",
        "a = b",
        "!a",
        "# a",
        "cpu@a",
        "d_ratio(a)",
        "d_ratio(a, b, c)",
        "has_event(a + b)",
        "0xg",
    ]
    .iter()
    .map(|text| {
        let error = Expression::parse(text).unwrap_err();
        format!("{text:24} {:?} {error}", error.span)
    })
    .collect();
    insta::assert_snapshot!(mistakes.join("\n"));
}

#[test]
fn what_is_too_much_is_refused() {
    let wrong = |text: &str| Expression::parse(text).unwrap_err().wrong;
    assert_eq!(wrong(&"(".repeat(100_000)), Wrong::TooDeep);
    assert_eq!(wrong(&"-".repeat(100_000)), Wrong::TooDeep);
    assert_eq!(wrong(&"a if b else ".repeat(100_000)), Wrong::TooDeep);
    assert_eq!(wrong(&"a if ".repeat(100_000)), Wrong::TooDeep);
    assert_eq!(wrong(&format!("1{}", "+a".repeat(100_000))), Wrong::TooLong);
    assert_eq!(wrong(&"x".repeat(100_000)), Wrong::NameLength(100_000));
    let deep = format!("{}a{}", "(".repeat(MOST_NESTED), ")".repeat(MOST_NESTED));
    assert_eq!(Expression::parse(&deep).unwrap(), Expression::counter("a"));
    let long = Expression::parse(&format!("a{}", "+a".repeat(400))).unwrap();
    assert_eq!(long.replace(|_| Some(&long)), Err(Wrong::TooLong));
    let many: Vec<String> = (0..=MOST_COUNTERS).map(|i| format!("c{i}")).collect();
    assert_eq!(wrong(&many.join("+")), Wrong::TooMany);
    let mut nested = Expression::counter("a");
    let step = Expression::parse("(a + 1) * 2").unwrap();
    let refused = (0..1000).find_map(|_| {
        match step.replace(|_| Some(&nested)) {
            Ok(more) => nested = more,
            Err(wrong) => return Some(wrong),
        }
        None
    });
    assert_eq!(refused, Some(Wrong::TooDeep));
    assert_eq!(Expression::parse(&nested.to_string()), Ok(nested));
}

#[test]
fn names_from_outside_can_be_written() {
    let name = |name: &str| Expression::checked_counter(name);
    assert_eq!(name("any name (1)").unwrap().to_string(), "\"any name (1)\"");
    assert_eq!(name("a\"b"), Err(Wrong::Character('"')));
    assert_eq!(name("a\nb"), Err(Wrong::Character('\n')));
    assert_eq!(name(""), Err(Wrong::NameLength(0)));
    assert_eq!(name(&"é".repeat(129)), Err(Wrong::NameLength(258)));
}

#[test]
fn units_follow_the_arithmetic() {
    use crate::catalogue::{Unit, spec};
    let unit =
        |text: &str| Expression::parse(text).unwrap().unit(|name| spec(name).map(|spec| spec.unit));
    assert_eq!(unit("net:*:rx_bytes + net:*:tx_bytes"), Some(Unit::Bytes));
    assert_eq!(unit("-abs(net:*:rx_bytes) * 8 / 2"), Some(Unit::Bytes));
    assert_eq!(unit("1 - proc:idle / (proc:idle + proc:user)"), Some(Unit::Ratio));
    assert_eq!(unit("instructions / cycles"), Some(Unit::Ratio));
    assert_eq!(unit("proc:idle + net:*:rx_bytes"), None);
    assert_eq!(unit("net:*:rx_bytes / instructions"), None);
    assert_eq!(unit("unheard::of"), None);
    assert_eq!(unit("1 + 2"), Some(Unit::Ratio));
}
