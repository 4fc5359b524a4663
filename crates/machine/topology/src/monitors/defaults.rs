//! Default monitors.
//!
//! Owns a choice that is informative on every machine: hardware counters where they exist, software
//! figures everywhere.

use super::{Monitor, parse};

/// Groups of equivalent monitors; of each the first one whose counters can be read is taken.
#[rustfmt::skip]
pub(super) const CHOICES: &[&[&str]] = &[
    &["IPC{ OBJ = Core; CTR = instructions / cycles; MIN = 0; UNIT = \"instr./cycle\"; }"],
    &["IPC_PU{ OBJ = PU; CTR = instructions / cycles; MIN = 0; UNIT = \"instr./cycle\"; }"],
    &[
        "L1_MISS{ OBJ = L1d; CTR = L1-dcache-load-misses; PER = second; LOGSCALE = 1; UNIT = \"misses/s\"; }",
        "L1_MISS{ OBJ = L1d; CTR = PAPI_L1_DCM; PER = second; LOGSCALE = 1; UNIT = \"misses/s\"; }",
    ],
    &[
        "L2_MISS{ OBJ = L2; CTR = PAPI_L2_TCM; PER = second; LOGSCALE = 1; UNIT = \"misses/s\"; }",
        "L2_MISS{ OBJ = L2; CTR = l2_rqsts.miss; PER = second; LOGSCALE = 1; UNIT = \"misses/s\"; }",
    ],
    &[
        "L3_MISS{ OBJ = L3; CTR = LLC-load-misses; PER = second; LOGSCALE = 1; UNIT = \"misses/s\"; }",
        "L3_MISS{ OBJ = L3; CTR = cache-misses; PER = second; LOGSCALE = 1; UNIT = \"misses/s\"; }",
        "L3_MISS{ OBJ = L3; CTR = PAPI_L3_TCM; PER = second; LOGSCALE = 1; UNIT = \"misses/s\"; }",
    ],
    // Without counters of the memory controllers: lines of 64 bytes that the last cache had to
    // fetch.
    &[
        "MEM_BANDWIDTH{ OBJ = NUMANode; CTR = imc:read_bytes + imc:write_bytes; PER = second; UNIT = B/s; }",
        "MEM_BANDWIDTH_ESTIMATE{ OBJ = NUMANode; CTR = 64 * cache-misses; PER = second; UNIT = B/s; }",
    ],
    &[
        "BUSY{ OBJ = PU; CTR = proc:busy / (proc:busy + proc:idle + proc:iowait + proc:steal); MIN = 0; MAX = 1; }",
        "BUSY{ OBJ = PU; CTR = proc:busy; PER = second; MIN = 0; MAX = 1; UNIT = \"\"; }",
    ],
    &[
        "BUSY_CORE{ OBJ = Core; CTR = proc:busy / (proc:busy + proc:idle + proc:iowait + proc:steal); MIN = 0; MAX = 1; }",
        "BUSY_CORE{ OBJ = Core; CTR = proc:busy; PER = second; AGG = mean; MIN = 0; MAX = 1; UNIT = \"\"; }",
    ],
    &[
        "SWITCHES{ OBJ = PU; CTR = context-switches; PER = second; LOGSCALE = 1; UNIT = \"1/s\"; }",
        "SWITCHES{ OBJ = Machine; CTR = proc:context-switches; PER = second; LOGSCALE = 1; UNIT = \"1/s\"; }",
    ],
    &["FAULTS{ OBJ = Package; CTR = page-faults; PER = second; LOGSCALE = 1; UNIT = \"1/s\"; }"],
    &["MEM_USED{ OBJ = NUMANode; CTR = mem:used; MIN = 0; UNIT = B; }"],
    &["NET{ OBJ = OSDev; CTR = net:*:rx_bytes + net:*:tx_bytes; PER = second; UNIT = B/s; }"],
    &["INFINIBAND{ OBJ = OSDev; CTR = ib:*:port_rcv_data + ib:*:port_xmit_data; PER = second; UNIT = B/s; }"],
];

/// Default monitors whose counters can be read here.
pub fn defaults(available: &dyn Fn(&str) -> bool) -> Vec<Monitor> {
    let first = |choice: &&[&str]| {
        let monitors = choice.iter().filter_map(|text| parse(text).ok()).flatten();
        monitors.into_iter().find(|monitor| monitor.counters().iter().all(|name| available(name)))
    };
    CHOICES.iter().filter_map(first).collect()
}
