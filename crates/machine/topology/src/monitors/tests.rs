//! The two forms, mistakes as users see them, round trips, hostile texts.

use proptest::prelude::*;

use super::*;

fn one(text: &str) -> Monitor {
    let mut all = parse(text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn expression(text: &str) -> Expression {
    Expression::parse(text).unwrap()
}

#[test]
fn the_form_of_dynamic_lstopo() {
    let text = "L3_MISS{ OBJ = L3; CTR = PAPI_L3_TCM; LOGSCALE = 1; } L2_MISS{ OBJ = L2; CTR = PAPI_L2_TCM; LOGSCALE = 1; } \
        L1_MISS{ OBJ = L1d; CTR = PAPI_L1_DCM; LOGSCALE = 1; } SINGLE_L3_MISS{ OBJ = PU; CTR = PAPI_L3_TCM; LOGSCALE = 1; }";
    let all = parse(text).unwrap();
    let kinds = [ObjectKind::L3Cache, ObjectKind::L2Cache, ObjectKind::L1Cache, ObjectKind::Pu];
    assert_eq!(all.iter().map(|m| m.objects).collect::<Vec<_>>(), kinds.map(ObjectsOf::Kind));
    assert!(all.iter().all(|monitor| monitor.log));
    assert_eq!(all[3].name, "SINGLE_L3_MISS");

    let slide = one(
        "SINGLE L3 MISS{ OBJ = L3 ; CTR = PAPI L2 TCM/PAPI L2 TCA ; LOGSCALE = 1; MAX=1000000; MIN=0; }",
    );
    assert_eq!(slide.name, "SINGLE_L3_MISS");
    assert_eq!(slide.expression, expression("PAPI_L2_TCM/PAPI_L2_TCA"));
    assert_eq!((slide.min, slide.max, slide.log), (Some(0.0), Some(1e6), true));
}

#[test]
fn the_form_of_its_successor() {
    let text = "
% instructions per cycle
ins_cyc_pu
{
	OBJ:=PU;                              #Default machine.
	PERF_LIB:=papi;                       // Compulsory.
	EVSET:=PAPI_TOT_INS, PAPI_TOT_CYC;    % Compulsory.
	REDUCTION:= ipc=$0/$1;
	WINDOW:=4; SILENT:=1;
}
raw{ OBJ:=PU; EVSET:=PAPI_TOT_CYC, PAPI_TOT_INS; PERF_LIB:=papi }
both{ EVSET:=raw; PERF_LIB:=accumulate; REDUCTION:=$1/$0, $0*$0; }
misses{ OBJ:=L2; EVSET:=skl::L2_RQSTS:MISS:u=1; }
most{ OBJ:=Machine; PERF_LIB:=hierarchical; EVSET:=misses; REDUCTION:=1#monitor_events_max; }
all{ OBJ:=PU; EVSET:=a, b; REDUCTION:=monitor_events_sum; }
";
    let all = parse(text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let lines: Vec<String> = all.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
ins_cyc_pu{ OBJ = PU; CTR = PAPI_TOT_INS / PAPI_TOT_CYC; WINDOW = 4; PERF_LIB = papi; SILENT = 1; }
raw:PAPI_TOT_CYC{ OBJ = PU; CTR = PAPI_TOT_CYC; PERF_LIB = papi; }
raw:PAPI_TOT_INS{ OBJ = PU; CTR = PAPI_TOT_INS; PERF_LIB = papi; }
both:0{ OBJ = Machine; CTR = PAPI_TOT_INS / PAPI_TOT_CYC; PERF_LIB = accumulate; }
both:1{ OBJ = Machine; CTR = PAPI_TOT_CYC * PAPI_TOT_CYC; PERF_LIB = accumulate; }
misses{ OBJ = L2; CTR = skl::L2_RQSTS:MISS:u=1; }
most{ OBJ = Machine; CTR = skl::L2_RQSTS:MISS:u=1; AGG = max; WHEN = L2; PERF_LIB = hierarchical; }
all{ OBJ = PU; CTR = a + b; }
"#);
}

#[test]
fn keys() {
    let text = "M{obj=NUMANode:1;ctr=a+b*2;agg=MEAN;when=Core;per=second;min=-5;max=2k*2;unit=%;logscale=0;window=3}";
    let monitor = one(text);
    let node = ObjectsOf::Some { kind: ObjectKind::NumaNode, first: 1, last: 1 };
    assert_eq!(monitor.objects, node);
    assert_eq!(monitor.aggregate, Aggregate::Mean);
    assert_eq!(monitor.when, When::At(ObjectsOf::Kind(ObjectKind::Core)));
    assert_eq!((monitor.min, monitor.max), (Some(-5.0), Some(4000.0)));
    assert_eq!(monitor.unit.as_deref(), Some("%"));
    assert_eq!((monitor.window, monitor.accumulate, monitor.log), (3, false, false));
    assert!(one("M{OBJ=PU;CTR=a;ACCUMULATE=1}").accumulate);
    assert!(parse("M{OBJ=PU;CTR=a;ACCUMULATE=1;WINDOW=2}").is_err());
    assert_eq!(one("M{OBJ=2;CTR=a}").objects, ObjectsOf::Depth(2));
    assert_eq!(one("M{OBJ=PU:0..3;CTR=a}").objects.to_string(), "PU:0-3");
    assert_eq!(one("M{OBJ=PU;CTR=a;PER=b+c}").counters(), ["a", "b", "c"]);
    assert_eq!(one("M{OBJ=PU;CTR=\"cpu/a;b}/\"}").counters(), ["cpu/a;b}/"]);
    assert_eq!(one("M{OBJ=PU;CTR=a;PER=instruction}").counters(), ["a", "instructions"]);
    assert_eq!(parse("  # nothing\n"), Ok(vec![]));
}

#[test]
fn units() {
    let unit = |fields: &str| one(&format!("M{{ OBJ = PU; {fields} }}")).unit_text();
    assert_eq!(unit("CTR = net:*:rx_bytes; PER = second;"), "B/s");
    assert_eq!(unit("CTR = cycles; PER = second;"), "1/s");
    assert_eq!(unit("CTR = mem:used;"), "B");
    assert_eq!(unit("CTR = proc:user; PER = proc:idle;"), "");
    assert_eq!(unit("CTR = cycles; UNIT = \"Mcyc\";"), "Mcyc");
    assert_eq!(unit("CTR = unheard::of; PER = second;"), "");
}

#[test]
fn monitors_refer_to_monitors() {
    let all = parse(
        "A{ OBJ = L3; CTR = B / C; } B{ OBJ = PU; CTR = x + y; SILENT = 1; } C{ OBJ = PU; CTR = B + 1; PER = A; }",
    );
    assert!(all.is_err(), "A needs C, and C's divisor needs A");
    let all = parse(
        "A{ OBJ = L3; CTR = B / C; } B{ OBJ = PU; CTR = x + y; } C{ OBJ = PU; CTR = B + 1; }",
    );
    let all = all.unwrap();
    assert_eq!(all[0].expression, expression("(x + y) / (x + y + 1)"));
    let repeated = |count: usize, line: &dyn Fn(usize) -> String| -> String {
        (0..count).map(line).collect::<Vec<_>>().concat()
    };
    let chain = repeated(1000, &|i| format!("m{i}{{ OBJ = PU; CTR = m{}; }}\n", i + 1));
    assert_eq!(parse(&(chain.clone() + "m1000{ OBJ = PU; CTR = x; }")).unwrap().len(), 1001);
    assert!(parse(&(chain + "m1000{ OBJ = PU; CTR = m0; }")).is_err());
    let doubling = repeated(100, &|i| format!("m{i}{{ OBJ = PU; CTR = m{0} + m{0}; }}\n", i + 1));
    assert!(parse(&(doubling + "m100{ OBJ = PU; CTR = x; }")).is_err());
}

/// Output for a user; `known` are the machine's counters.
fn seen(text: &str) -> String {
    let names = ["cycles".to_owned(), "instructions".to_owned(), "skl::UOPS".to_owned()];
    let has = |name: &str| names.iter().any(|known| known == name);
    let known = Known { has: &has, names: &names };
    match parse_known(text, &known) {
        Ok(all) => all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        Err(mistakes) => mistakes.in_file("monitors.txt").to_string(),
    }
}

#[test]
fn a_monitor_is_not_suggested_for_its_own_counter() {
    let help = |text: &str| {
        let names = ["disk:*:busy", "proc:busy", "cycles"].map(str::to_owned);
        let known = Known { has: &|name| names.iter().any(|one| one == name), names: &names };
        let mistakes = parse_known(text, &known).unwrap_err();
        mistakes.iter().find_map(|mistake| mistake.help.clone())
    };
    let busy = Some("did you mean `proc:busy`?".to_owned());
    assert_eq!(help("BUSY{ OBJ = PU; CTR = busy; }"), busy);
    assert_eq!(help("BUSY{ OBJ = PU; CTR = Busy; }"), busy);
    // Without a counter with this ending, its own name is no help either; another monitor's is.
    assert_eq!(help("QUUX{ OBJ = PU; CTR = quux; }"), None);
    let other = "QUUX{ OBJ = PU; CTR = cycles; } B{ OBJ = PU; CTR = quuz; }";
    assert_eq!(help(other).as_deref(), Some("did you mean `QUUX`?"));
}

#[test]
fn an_unknown_name_with_hyphens_is_one_mistake() {
    let names = ["cycles".to_owned()];
    let known = Known { has: &|name| name == "cycles", names: &names };
    let of = |text: &str| {
        let mistakes = parse_known(text, &known).unwrap_err();
        let shown = |one: &Mistake| {
            (text[one.span.clone()].to_owned(), one.message.clone(), one.help.clone())
        };
        mistakes.iter().map(shown).collect::<Vec<_>>()
    };
    let expected = (
        "page-fault".to_owned(),
        "unknown counter `page-fault`".to_owned(),
        Some("did you mean `page-faults`?".to_owned()),
    );
    assert_eq!(of("A{ OBJ = PU; CTR = cycles + page-fault; }"), [expected]);
    let quoted = of("A{ OBJ = PU; CTR = \"page-fault\"; }");
    assert_eq!(quoted[0].1, "unknown counter `page-fault`");
    // A difference of two unknown names stays two.
    assert_eq!(of("A{ OBJ = PU; CTR = quux-zork; }").len(), 2);
}

#[test]
fn mistakes_are_shown_all_at_once() {
    let text = "\
# Many mistakes.
A{ OBJ = L9; CTR = cyles; LOGSCALE = 2; }
B{ OBJ = L3; CTR = cycles / 0; MAX = 1; MIN = 2; }
B{ OBJ = Sockt; CTRL = cycles; }
C{ OBJ = PU; CTR = D + 1; } D{ OBJ = PU; CTR = C * 2; }
E{ OBJ = PU CTR = cycles; WINDOW = 0; AGG = man; }
F{ OBJ = PU; CTR = cpu/cache-misses/; PER = 1 - 1; }
G{ OBJ = PU; CTR = E + $1; UNIT = \"a\"b\"; }
H{ OBJ = PU; CTR = (cycles + PAPI_L2_TCM; N_SAMPLES = 3; }
I{ OBJ = PU; EVSET = cycles, 2; REDUCTION := 5#lsq_fit; }
";
    insta::assert_snapshot!(seen(text));
}

#[test]
fn more_mistakes() {
    let texts = [
        "A{ OBJ = PU; CTR = A; }",
        "A{ OBJ = PU; CTR = cycles;",
        "A OBJ = PU; CTR = cycles; }",
        "A{ OBJ = PU; CTR = cycles; } rest",
        "{ OBJ = PU; CTR = cycles; }",
        "A{ OBJ = PU; }",
        "A{ CTR = cycles; }",
        "A?{ OBJ = PU; CTR = cycles; }",
        "A{ OBJ = PU; CTR = cycles; B{ OBJ = PU; CTR = instructons; }",
        "A{ OBJ = PU; CTR = cycles; AGG = max; } B{ OBJ = L3; CTR = A * 2; }",
        "A{ OBJ = PU; CTR = skl::UOP; } B{ OBJ = PU; CTR = skl::UOP; }",
        "A{ OBJ = L3:3-1; CTR = \"cycles; }",
    ];
    let all: Vec<String> = texts.iter().map(|text| seen(text)).collect();
    insta::assert_snapshot!(all.join("\n\n"));
}

#[test]
fn counters_of_the_catalogue_are_no_mistakes() {
    // They will be absent with a reason; the other monitors continue.
    assert_eq!(
        seen("A{ OBJ = PU; CTR = PAPI_FP_OPS + LLC-loads + net:eth7:rx_bytes; }"),
        "A{ OBJ = PU; CTR = PAPI_FP_OPS + \"LLC-loads\" + net:eth7:rx_bytes; }"
    );
}

#[test]
fn too_much_is_refused() {
    let long = "x".repeat(LONGEST_TEXT + 1);
    assert!(parse(&long).unwrap_err().to_string().contains("1048577"));
    let many = "A{".repeat(LONGEST_TEXT / 2);
    let mistakes = parse(&many).unwrap_err();
    assert!(mistakes.to_string().len() < 100_000);
    assert_eq!(mistakes.iter().count(), 1000);
    for part in [
        "a=",
        "OBJ = x CTR ",
        "a{b}",
        "\"",
        "M{OBJ=PU;CTR=x}",
        "#\n",
        "((((",
        "A{OBJ=PU;CTR=A A A A;}",
    ] {
        let text = format!("M{{ {}", part.repeat(LONGEST_TEXT / part.len() - 10));
        assert!(parse(&text).is_err());
        assert!(parse(&text[4..]).is_err() || part == "#\n");
    }
}

#[test]
fn defaults_are_what_can_be_read() {
    let show = |available: &dyn Fn(&str) -> bool| {
        let lines = defaults(available).into_iter().map(|monitor| {
            format!(
                "{:14} {:9} [{}]",
                monitor.name,
                monitor.objects.to_string(),
                monitor.unit_text()
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let software =
        |name: &str| name.contains(':') && !name.starts_with("ib:") && !name.starts_with("imc");
    insta::assert_snapshot!(show(&software), @r#"
BUSY           PU        []
BUSY_CORE      Core      []
SWITCHES       Machine   [1/s]
MEM_USED       NUMANode  [B]
NET            OSDev     [B/s]
"#);
    insta::assert_snapshot!(show(&|name| name != "PAPI_L2_TCM"), @r#"
IPC            Core      [instr./cycle]
IPC_PU         PU        [instr./cycle]
L1_MISS        L1d       [misses/s]
L2_MISS        L2        [misses/s]
L3_MISS        L3        [misses/s]
MEM_BANDWIDTH  NUMANode  [B/s]
BUSY           PU        []
BUSY_CORE      Core      []
SWITCHES       PU        [1/s]
FAULTS         Package   [1/s]
MEM_USED       NUMANode  [B]
NET            OSDev     [B/s]
INFINIBAND     OSDev     [B/s]
"#);
    assert!(defaults(&|_| false).is_empty());
    for choice in super::defaults::CHOICES.iter().flat_map(|choice| choice.iter()) {
        assert_eq!(parse(choice).map(|all| all.len()), Ok(1), "{choice}");
    }
}

fn objects() -> impl Strategy<Value = ObjectsOf> {
    let kind = prop::sample::select(ObjectKind::ALL.as_slice());
    prop_oneof![
        kind.clone().prop_map(ObjectsOf::Kind),
        (0_u32..20).prop_map(ObjectsOf::Depth),
        (kind, 0_u32..9, 0_u32..9).prop_map(|(kind, first, more)| ObjectsOf::Some {
            kind,
            first,
            last: first + more
        }),
    ]
}

fn texts() -> impl Strategy<Value = Expression> {
    let texts = [
        "second",
        "a / b",
        "-(a + \"cpu/x/\") * 2",
        "min(a, 1e-30)",
        "LLC-loads / 3",
        "a - (b - c)",
    ];
    prop::sample::select(texts.to_vec()).prop_map(expression)
}

fn monitors() -> impl Strategy<Value = Monitor> {
    let when = prop_oneof![Just(When::After), Just(When::Before), objects().prop_map(When::At)];
    let per = prop_oneof![
        Just(Per::Frame),
        Just(Per::Second),
        Just(Per::Instruction),
        Just(Per::Cycle),
        texts().prop_map(Per::Expression)
    ];
    let aggregate = prop::sample::select(Aggregate::ALL.as_slice()).prop_map(|known| known.1);
    let end =
        || prop::option::of(prop_oneof![-1e12..1e12_f64, Just(0.0), Just(1e300), Just(-1e-300)]);
    (
        ("[A-Z][A-Z0-9_.:-]{0,8}", objects(), texts(), aggregate, when, per),
        (end(), end(), prop::option::of("[ -!#-~é%]{0,9}"), 1_u32..=LONGEST_WINDOW),
        (any::<[bool; 3]>(), prop::option::of("[a-z_]{1,9}")),
    )
        .prop_map(|(first, (a, b, unit, window), (flags, library))| {
            let (name, objects, expression, aggregate, when, per) = first;
            let (min, max) = match (a, b) {
                (Some(a), Some(b)) => (Some(a.min(b)), Some(a.max(b))),
                ends => ends,
            };
            let [log, accumulate, silent] = flags;
            Monitor {
                aggregate,
                when,
                per,
                min,
                max,
                log,
                unit,
                window: if accumulate { 1 } else { window },
                accumulate,
                silent,
                library: library.filter(|name| name != "hierarchical"),
                ..Monitor::new(&name, objects, expression)
            }
        })
}

proptest! {
    #[test]
    fn texts_come_back(monitor in monitors()) {
        let text = monitor.to_string();
        let read = parse(&text);
        prop_assert!(read.is_ok(), "{}\n{}", text, read.unwrap_err());
        prop_assert_eq!(read.unwrap(), vec![monitor], "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(A|B|OBJ|CTR|MAX|EVSET|REDUCTION|L3|PU|[-+*/(){};:=\"#%,$. \n0-9é]){0,40}") {
        if let Err(mistakes) = parse(&text) {
            prop_assert!(mistakes.iter().count() > 0);
            prop_assert!(mistakes.to_string().contains("error"));
        }
    }

    #[test]
    fn any_bytes_in_a_field(value in "[^}]{0,30}") {
        for key in ["OBJ", "CTR", "UNIT", "EVSET"] {
            if let Err(mistakes) = parse(&format!("A{{ OBJ = PU; CTR = a; {key} = {value}; }}")) {
                prop_assert!(mistakes.to_string().contains("error"));
            }
        }
    }
}
