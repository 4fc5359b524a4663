// A made-up site behind the server's routes (docs/server.md): rows of samples, and answers that are computed from them.
// Users see their own rows only. Everything is the same in every run but for the time, which ends now.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../dist/serve/", import.meta.url));
export const POLICY = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const USERS = { root: { name: "root", uid: 0, operator: true }, ada: { name: "ada", uid: 1001, operator: false }, nobody: { name: "nobody", uid: 4242, operator: false } };
const HOSTILE = "\"><img src=x onerror=window.broken=1>\u202e\u061c\u200b\u00ad\u{e0041}'; DROP TABLE\n" + "x".repeat(300);

/** Always the same numbers between 0 and 1. */
function draws(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** What the server knows by a longer list. */
const isMpi = (library) => /\/(libmpi|libucp)[^/]*\.so/.test(library);

/** Parts of a job's time: executable, library, function, phase, weight. */
const CODES = {
  lammps: [["/opt/lammps/bin/lmp_mpi", "/opt/lammps/bin/lmp_mpi", "PairLJCut::compute", "pair", 0.46], ["/opt/lammps/bin/lmp_mpi", "/opt/lammps/bin/lmp_mpi", "Neighbor::build", "neighbour", 0.17],
    ["/opt/lammps/bin/lmp_mpi", "/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40", "MPI_Wait", "exchange", 0.21], ["/opt/lammps/bin/lmp_mpi", "/lib/x86_64-linux-gnu/libucp.so.0", "ucp_worker_progress", "exchange", 0.1], ["/opt/lammps/bin/lmp_mpi", "/lib/x86_64-linux-gnu/libm.so.6", "exp", "pair", 0.06]],
  vasp: [["/home/ada/vasp/bin/vasp_std", "/opt/intel/oneapi/mkl/2025.0/lib/libmkl_avx512.so.2", "mkl_blas_avx512_zgemm", null, 0.52], ["/home/ada/vasp/bin/vasp_std", "/opt/intel/oneapi/mkl/2025.0/lib/libmkl_core.so.2", "DftiComputeForward", null, 0.2],
    ["/home/ada/vasp/bin/vasp_std", "/home/ada/vasp/bin/vasp_std", "hamil_mp", null, 0.18], ["/home/ada/vasp/bin/vasp_std", "/opt/intel/oneapi/mpi/2021.14/lib/libmpi.so.12", "MPI_Alltoallv", null, 0.1]],
  python: [["/usr/bin/python3.11", "/home/ben/env/lib/python3.11/site-packages/numpy.libs/libopenblas64_p-r0-15028c96.3.21.so", "dgemm_kernel_HASWELL", "train", 0.44], ["/usr/bin/python3.11", "/usr/bin/python3.11", "_PyEval_EvalFrameDefault", "load", 0.34],
    ["/usr/bin/python3.11", "/home/ben/env/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", "at::native::add", "train", 0.14], ["/usr/bin/python3.11", "/lib/x86_64-linux-gnu/libc.so.6", "memcpy", "load", 0.08]],
  build: [["/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "(no symbol)", null, 0.9], ["/usr/bin/ld", "/usr/bin/ld", "bfd_link", null, 0.1]],
};

const DAY = 86_400e9;

/** Rows of samples for some nodes over the last six hours, in slices of `slice` seconds. */
export function site({ nodes = 24, cores = 32, slice = 600, hours = 6, silent = [7], hostile = false } = {}) {
  const random = draws(7);
  const width = slice * 1e9;
  const now = Date.now() * 1e6;
  const last = Math.floor(now / width) * width;
  const first = last - Math.round((hours * 3600) / slice) * width;
  const digits = String(nodes - 1).length < 2 ? 2 : String(nodes - 1).length;
  const names = Array.from({ length: nodes }, (_, at) => `n${String(at + 1).padStart(digits, "0")}`);
  const jobs = [
    { id: "4711", user: 1001, code: "lammps", from: 0, to: 0.4, begin: 0.2, end: 1.01, busy: 0.97 }, { id: "4712", user: 1001, code: "vasp", from: 0.4, to: 0.55, begin: 0.5, end: 1.01, busy: 0.9 },
    { id: "4713_2", user: 1002, code: "python", from: 0.55, to: 0.75, begin: 0, end: 0.8, busy: 0.35 }, { id: "4720", user: 1003, code: "build", from: 0.75, to: 0.8, begin: 0.7, end: 1.01, busy: 0.6 },
    { id: "4700", user: 1001, code: "lammps", from: 0, to: 0.2, begin: 0, end: 0.15, busy: 0.95 },
    ...(hostile ? [{ id: HOSTILE, user: 1001, code: "hostile", from: 0.9, to: 1, begin: 0, end: 1.01, busy: 0.7 }] : []),
  ];
  const codes = { ...CODES, hostile: [[`/tmp/${HOSTILE}`, `/tmp/${HOSTILE}.so`, HOSTILE, HOSTILE, 1]] };
  const rows = [];
  const row = (node, begin, samples, rest) => { if (samples > 0) rows.push({ node, begin, job: null, user: null, executable: null, library: null, function: null, phase: null, core: null, activity: "idle", samples, ...rest }); };
  names.forEach((node, at) => {
    const place = at / nodes;
    for (let begin = first; begin <= last; begin += width) {
      const part = (begin - first) / (last - first);
      if (silent.includes(at) && part > 0.7) continue;
      const whole = cores * slice;
      const job = jobs.find((one) => place >= one.from && place < one.to && part >= one.begin && part < one.end);
      if (!job) {
        const kernel = Math.round(whole * 0.004 * random());
        row(node, begin, kernel, { activity: "kernel", user: 0, library: "[kernel]", function: "update_process_times" });
        row(node, begin, whole - kernel);
        continue;
      }
      const busy = Math.round(whole * job.busy * (0.9 + 0.1 * random()));
      const kernel = Math.round(busy * (job.code === "build" ? 0.15 : 0.03) * random());
      const mine = { job: job.id, user: job.user };
      let left = busy - kernel;
      const parts = codes[job.code];
      parts.forEach(([executable, library, named, phase, weight], k) => {
        const samples = k === parts.length - 1 ? left : Math.min(left, Math.round((busy - kernel) * weight * (0.8 + 0.4 * random())));
        left -= samples;
        row(node, begin, samples, { ...mine, executable, library, function: named, phase, activity: isMpi(library) ? "mpi" : "user" });
      });
      row(node, begin, kernel, { ...mine, executable: parts[0][0], library: "[kernel]", function: "copy_page", activity: "kernel" });
      row(node, begin, whole - busy, { ...mine, function: "(no file)", activity: "waiting" });
    }
  });
  return { rows, names, cores, width, first, last, jobs, silent: silent.map((at) => names[at]) };
}

const glob = (pattern, text) => (/[*?]/.test(pattern)
  ? new RegExp(`^${pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[^]*").replace(/\?/g, "[^]")}$`).test(text) : pattern === text);
const FILTERS = ["node", "job", "user", "executable", "library", "phase", "core", "activity"];
const seconds = (text) => Number.parseFloat(text) * { s: 1, m: 60, h: 3600, d: 86_400 }[text.at(-1)];
const instant = (text) => (/^[\d.]+$/.test(text) ? Number(text) * 1e9 : Date.parse(text) * 1e6);

function proportion(hits, n) {
  if (!n) return { share: null, standard_error: null, low: null, high: null };
  const [p, z2] = [hits / n, 1.959963984540054 ** 2];
  const middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const half = (1.959963984540054 / (1 + z2 / n)) * Math.sqrt((p * (1 - p)) / n + z2 / (4 * n * n));
  return { share: p, standard_error: Math.sqrt((p * (1 - p)) / n), low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

class Fault extends Error { constructor(status, message) { super(message); this.status = status; } }

/** Answers of the site for somebody. */
function answers(all, me, path, query) {
  let seen = me.operator ? all.rows : all.rows.filter((row) => row.user === me.uid);
  if (/core/.test(query.get("by") ?? "")) seen = seen.filter((row) => row.job === query.get("job")).flatMap((row) => Array.from({ length: all.cores }, (_, core) => ({ ...row, core, samples: row.samples / all.cores * (row.activity === "waiting" ? 1 : 0.5 + core / all.cores) })));
  const from = query.has("last") ? Date.now() * 1e6 - seconds(query.get("last")) * 1e9 : query.has("from") ? instant(query.get("from")) : 0;
  const to = query.has("to") ? instant(query.get("to")) : Infinity;
  const timed = seen.filter((row) => row.begin + all.width > from && row.begin < to);
  const wanted = FILTERS.filter((one) => query.get(one));
  const matched = wanted.length ? timed.filter((row) => wanted.every((one) => row[one] !== null && glob(query.get(one), String(row[one])))) : timed;
  const by = (query.get("by") ?? "").split(",").filter(Boolean);
  const sum = (rows) => rows.reduce((total, row) => total + row.samples, 0);
  const grouped = (rows) => {
    const out = new Map();
    for (const row of rows) {
      const names = by.map((one) => row[one]);
      const key = JSON.stringify(names);
      const group = out.get(key) ?? { names, samples: 0 };
      group.samples += row.samples;
      out.set(key, group);
    }
    const most = [...out.values()].sort((a, b) => b.samples - a.samples).slice(0, Number(query.get("limit") ?? 1000));
    return Object.assign(most, { groups: out.size });
  };
  const jobs = () => {
    const out = new Map();
    for (const row of matched) {
      if (row.job === null) continue;
      const key = `${row.job} ${row.user}`;
      const job = out.get(key) ?? { job: row.job, user: row.user, first_ns: Infinity, last_ns: 0, nodes: new Set(), samples: 0 };
      job.first_ns = Math.min(job.first_ns, row.begin);
      job.last_ns = Math.max(job.last_ns, row.begin + all.width);
      job.nodes.add(row.node);
      job.samples += row.samples;
      out.set(key, job);
    }
    return [...out.values()].map((job) => ({ ...job, nodes: job.nodes.size, core_seconds: job.samples }));
  };
  const findings = () => jobs().filter((job) => job.job === "4713_2").map((job) => ({
    rule: "idle-cores", job: job.job, user: job.user, node: null, begin_ns: job.first_ns, end_ns: job.last_ns, severity: "warning", title: "Two thirds of the cores of job `4713_2` do nothing",
    hint: "Python runs with one thread: set `OMP_NUM_THREADS` or ask for fewer cores; the library with most time is `libopenblas64_p.so`", values: { busy: 0.349, cores: 32 },
  }));
  if (path === "usage") {
    const n = sum(timed);
    return { store: "sqlite:made-up", begin_ns: timed.length ? timed.reduce((least, row) => Math.min(least, row.begin), Infinity) : null, end_ns: timed.length ? timed.reduce((most, row) => Math.max(most, row.begin), 0) + all.width : null, samples: n, core_seconds: n,
      matched_samples: sum(matched), matched_core_seconds: sum(matched), by, gaps: [],
      rows: grouped(matched).map((group) => ({ ...Object.fromEntries(by.map((one, at) => [one, group.names[at]])), samples: group.samples, core_seconds: group.samples, ...proportion(group.samples, n) })) };
  }
  if (path === "series") {
    const step = seconds(query.get("step")) * 1e9;
    const keys = grouped(matched).map((group) => group.names);
    const places = new Map(keys.map((key, at) => [JSON.stringify(key), at]));
    const points = new Map();
    const point = (row) => {
      const begin = Math.floor(row.begin / step) * step;
      if (!points.has(begin)) points.set(begin, { begin_ns: begin, all_samples: 0, samples: 0, by_key: keys.map(() => 0), core_seconds: keys.map(() => 0) });
      return points.get(begin);
    };
    for (const row of timed) point(row).all_samples += row.samples;
    for (const row of matched) {
      const [one, at] = [point(row), places.get(JSON.stringify(by.map((dimension) => row[dimension])))];
      one.samples += row.samples;
      if (at !== undefined) { one.by_key[at] += row.samples; one.core_seconds[at] += row.samples; }
    }
    return { by, keys, step_ns: step, points: [...points.values()].sort((a, b) => a.begin_ns - b.begin_ns), gaps: [] };
  }
  if (path === "nodes") {
    const out = new Map();
    for (const row of seen) {
      const node = out.get(row.node) ?? { name: row.node, first_ns: row.begin, last_ns: 0, cores: all.cores, sampler: "bpf", interval_ns: 60e9 };
      node.last_ns = Math.max(node.last_ns, row.begin + all.width);
      out.set(row.node, node);
    }
    return { nodes: [...out.values()], ...(all.refused && { refused: all.refused }) };
  }
  if (path === "jobs") {
    const [most, limit] = [jobs(), Number(query.get("limit") ?? 1000)];
    return { jobs: most.slice(0, limit), gaps: most.length > limit ? [{ kind: "memory-bound", detail: `there are more jobs than the ${limit} asked for`, count: 0 }] : [] };
  }
  if (path.startsWith("jobs/")) {
    const job = jobs().sort((a, b) => b.samples - a.samples).find((one) => one.job === decodeURIComponent(path.slice(5)));
    if (!job) throw new Fault(404, "there is none, or none that you may see");
    const quantiles = (middle, low) => Array.from({ length: 11 }, (_, at) => middle * (at < 5 ? low + (1 - low) * (at / 5) ** 0.4 : 1 + 0.04 * (at - 5)));
    return { ...job, findings: findings().filter((one) => one.job === job.job), gaps: [], spreads: job.job.startsWith("4711") ? [
      { counter: "busy", unit: "1", cores: 9600, quantiles: quantiles(0.8, 0.9) }, { counter: "computing", unit: "1", cores: 9600, quantiles: quantiles(0.6, 0.55) }, { counter: "instructions", unit: "1", cores: 9600, quantiles: quantiles(3.1e9, 0.62) },
      { counter: "page-faults", unit: "1", cores: 9600, quantiles: quantiles(120, 0.2) }, { counter: "flops", unit: "1", cores: 9600, quantiles: quantiles(2.2e9, 0.7) }] : [] };
  }
  if (path === "rates") {
    const counters = [["cycles", "1", 3.2e9], ["instructions", "1", 3.1e9], ["page-faults", "1", 120], ["flops", "1", 2.2e9], ["memory-bytes", "B", 1.1e9]].slice(0, query.get("job")?.startsWith("4711") ? 5 : 3);
    const groups = grouped(matched.filter((row) => row.activity !== "waiting"));
    return { gaps: [], groups: groups.groups, rows: groups.flatMap((group, at) => counters.map(([counter, unit, rate], k) => ({
      counter, unit, ...Object.fromEntries(by.map((one, place) => [one, group.names[place]])), rate: rate * (0.3 + ((at * 7 + k * 3) % 10) / 8), seconds: group.samples / 3, samples: Math.floor(group.samples / 3) })).map((row) => ({ ...row, count: row.rate * row.seconds }))) };
  }
  if (path === "findings" && query.has("last")) throw new Fault(400, "`last` is not known here; known are `from`, `to`, `job`, `node`");
  if (path === "findings") return { findings: findings().filter((one) => !query.get("job") || one.job === query.get("job")), gaps: [] };
  if (path === "search") {
    const hits = ["job", "node", "executable", "library", "phase"].flatMap((kind) =>
      [...new Set(timed.map((row) => row[kind]))].filter((text) => text !== null && text.includes(query.get("q"))).slice(0, 20).map((name) => ({ kind, name })));
    return { hits };
  }
  throw new Fault(404, "there is no such route");
}

/** Serves the pages and the site; the password of everybody is `pass`. */
export async function serve(all, port = 0) {
  const asked = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://host");
    const send = (status, type, body, headers = {}) => {
      response.writeHead(status, { "content-type": type, "content-security-policy": POLICY, "x-content-type-options": "nosniff", ...headers });
      response.end(body);
    };
    const json = (status, value, headers) => send(status, "application/json", JSON.stringify(value), headers);
    if (url.pathname === "/") return send(200, "text/html; charset=utf-8", readFileSync(`${dist}index.html`));
    if (url.pathname === "/assets/app.js") return send(200, "text/javascript; charset=utf-8", readFileSync(`${dist}app.js`));
    if (url.pathname === "/assets/app.css") return send(200, "text/css; charset=utf-8", readFileSync(`${dist}app.css`));
    const path = url.pathname.replace(/^\/api\/v1\//, "");
    const me = USERS[/talea_session=(\w+)/.exec(request.headers.cookie ?? "")?.[1]];
    asked.push(request.url);
    if (path === "login") {
      let body = "";
      request.on("data", (bytes) => (body += bytes));
      request.on("end", () => {
        const { user, password } = JSON.parse(body);
        if (!Object.hasOwn(USERS, user) || password !== "pass") return json(401, { error: "no user has this name and password" });
        json(200, USERS[user], { "set-cookie": `talea_session=${user}; Path=/; HttpOnly; SameSite=Strict` });
      });
      return;
    }
    if (path === "logout") return json(200, {}, { "set-cookie": "talea_session=; Path=/; Max-Age=0" });
    if (!me) return json(401, { error: "nobody is logged in" });
    if (path === "me") return json(200, { ...me, version: "0.1.0" });
    try {
      json(200, answers(all, me, path, url.searchParams));
    } catch (error) {
      json(error.status ?? 500, { error: error.message });
    }
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, asked, close: () => server.close() };
}

export { DAY, HOSTILE };
