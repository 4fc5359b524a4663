// The page of `talea watch --page`: its sentences and sums without a browser; then the page before a made-up stream of looks,
// whose figures it shows, however many ranks and whatever names there are, until the run or the server ends.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { HOSTILE, sample, serve } from "./watch-site.mjs";

/** A module of the page, without the rest. */
async function part(name) {
  const entry = fileURLToPath(new URL(`../src/watch/${name}.ts`, import.meta.url));
  const made = await build({ entryPoints: [entry], bundle: true, write: false, format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].contents).toString("base64")}`);
}

/** A look with some of its values changed. */
const look = (changes = {}, options = {}) => ({ ...sample(40, { ranks: 4, ...options }), ...changes });
/** The same with each rank changed. */
const ranks = (change, options) => look({ ranks: sample(40, { ranks: 4, ...options }).ranks.map(change) });

test("findings say what a look has", async () => {
  const { findings } = await part("findings");
  const texts = (data) => Object.fromEntries(findings(data).map((one) => [one.key, one.text]));
  const said = texts(look({ mpi_share: 0.12, recent_mpi_share: 0.4 }));
  assert.equal(said.loop, "93.1 % of the time of rank 0 is one loop of 1,294 iterations (`verlet.cpp:291-357`); an iteration takes 30.6 ms on average, the longest took 141 ms.");
  assert.equal(said.mpi, "12.0 % of the ranks' time is in MPI, 40.0 % in the last second.");
  assert.equal(texts(look({ interval_ns: 5e9, recent_mpi_share: 0.4 })).mpi, "12.1 % of the ranks' time is in MPI, 40.0 % in the last 5.00 s.");
  assert.equal(said.graph, "The graph is steady from 4.00 s on: at most 1 % of the time is on new edges.");
  assert.equal(said.computation, "81.0 % of the computing time is one cluster: bursts of 24.1 ms on average, most time after `MPI_Waitall comm_brick.cpp:538`.");
  assert.match(said.site, /^`MPI_Waitall comm_brick.cpp:538` took \d\.\d % of all threads' time in the last second, the highest of 7 call sites \(without `MPI_Init` and `MPI_Finalize`\)\.$/);
  assert.deepEqual(Object.keys(said), ["loop", "mpi", "site", "computation", "graph"], "nothing else is to be said");
  const unsteady = { steady_since_ns: null, change: 0.123 };
  assert.equal(texts(look(unsteady)).graph, "The graph is not known to be steady yet: 12.3 % of the time since the previous look is on new edges.");
  assert.equal(texts(look({ ...unsteady, change: null })).graph, "The graph is not known to be steady yet: no call ended since the previous look.");
  assert.equal(texts(look({ main_loop: null })).loop, "No main loop is known yet.");
  assert.equal(texts(look({ left_events: 14_000 })).behind, "14,000 calls are left for the next look: looks read more slowly than the program calls.");
  assert.deepEqual(findings(look({ ranks: [] })).map((one) => one.text), ["No process has called `MPI_Init` yet."]);
});

test("findings name the ranks that stand apart", async () => {
  const { findings } = await part("findings");
  const said = (data, key) => findings(data).find((one) => one.key === key)?.text;
  const waits = (since) => ({ site: "MPI_Recv x.c:20", since_ns: since });
  const one = (rank, change) => (row) => (row.rank === rank ? { ...row, ...change } : row);
  assert.equal(said(ranks(one(3, { inside: waits(12e9) })), "stuck"), "Rank 3 has been in `MPI_Recv x.c:20` for 12.0 s.");
  assert.equal(said(ranks(one(3, { inside: waits(4.9e9) })), "stuck"), undefined);
  const slow = ranks(one(3, { inside: waits(12e9) }));
  assert.equal(said({ ...slow, main_loop: { ...slow.main_loop, mean_ns: 7e9 } }, "stuck"), undefined, "iterations are longer");
  assert.equal(said(ranks((row) => ({ ...row, inside: waits((row.rank + 10) * 1e9) })), "stuck"), "All 4 ranks have been in their current calls for more than 5.00 s; rank 3 in `MPI_Recv x.c:20` for 13.0 s.");
  assert.equal(said(ranks((row) => ({ ...row, inside: row.rank === 2 ? null : waits(600e9) })), "stuck"), "All ranks but rank 2 have been in their current calls for more than 5.00 s; rank 0 in `MPI_Recv x.c:20` for 10 min 0 s.");
  assert.equal(said(ranks((row) => ({ ...row, inside: row.rank < 20 ? waits(6e9) : null }), { ranks: 512 }), "stuck"), "20 of 512 ranks have been in their current calls for more than 5.00 s; rank 0 in `MPI_Recv x.c:20` for 6.00 s.");
  assert.equal(said(ranks(one(3, { recent_mpi_share: 0.9, state: "killed" })), "killed"), "Rank 3 ended without `MPI_Finalize` (killed or crashed).");
  assert.equal(said(ranks((row) => ({ ...row, state: row.rank ? "aborted" : "running" }), { ranks: 6 }), "aborted"), "Ranks 1, 2 and 3 more called `MPI_Abort`.");
  assert.equal(said(ranks((row) => ({ ...row, world: 1, state: row.rank < 3 ? "finalized" : "running" })), "finalized"), "3 of 4 ranks called `MPI_Finalize`.");
  assert.equal(said(ranks((row) => ({ ...row, world: 1, recent_mpi_share: row.rank === 2 ? 0.05 : 0.61 })), "apart"), "Rank 1:2 was in MPI for 5.0 % of the last second, the median rank for 61.0 %: others may wait for it.");
  assert.equal(said(ranks((row) => ({ ...row, recent_mpi_share: row.rank < 2 ? 0.05 : 0.61 })), "apart"), undefined, "half of the ranks are no exception");
  assert.match(said(look({}, { ranks: 512, slow: 77 }), "apart"), /^Rank 77 was in MPI for [345]\.\d % of the last second, the median rank for 1\d\.\d %: others may wait for it\.$/);
  const spread = look();
  assert.equal(said({ ...spread, main_loop: { ...spread.main_loop, min_iterations: 1200, max_iterations: 1210 } }, "spread"), "Ranks have begun 1,200 to 1,210 iterations.");
  const pace = (ratio, variation) => {
    const history = Array.from({ length: 160 }, (_, at) => ({ begin_ns: at * 1e7, count: 1, mean_ns: at < 150 ? 1e7 : ratio * 1e7, min_ns: 1e7, max_ns: 1e7 }));
    return said({ ...spread, main_loop: { ...spread.main_loop, mean_ns: 1e7, variation, history } }, "pace");
  };
  assert.equal(pace(1.47, 0.1), "The last 10 iterations took 14.7 ms on average, 47.0 % longer than those before.");
  assert.equal(pace(0.5, 0.1), "The last 10 iterations took 5.00 ms on average, 50.0 % shorter than those before.");
  assert.equal(pace(1.1, 0.1), undefined);
  assert.equal(pace(1.47, 1), undefined, "such durations vary as much");
});

test("findings of an ended run are of all its time", async () => {
  const { findings } = await part("findings");
  const texts = Object.fromEntries(findings({ ...sample(40, { last: true }), mpi_share: 0.12 }).map((one) => [one.key, one.text]));
  assert.equal(texts.mpi, "12.0 % of the ranks' time was in MPI.");
  assert.equal(texts.site, "`MPI_Waitall comm_brick.cpp:538` took 7.0 % of all threads' time since the start, the highest of 7 call sites (without `MPI_Init` and `MPI_Finalize`).");
  assert.equal(texts.graph, "The graph was steady from 4.00 s on: at most 1 % of the time is on new edges.");
  const damaged = { ...sample(40, { last: true }), left_events: 7 };
  assert.equal(findings(damaged).find((one) => one.key === "behind").text, "7 calls are not read; no value includes them.");
  // A call that lasted longer than the interval has more than all of its time.
  const long = look({ sites: [{ site: "MPI_Recv x.c:2", calls: 1, time_ns: 1e10, share: 0.25, recent_share: 2.5 }] });
  assert.equal(findings(long).find((one) => one.key === "site").text, "`MPI_Recv x.c:2` took 25.0 % of all threads' time since the start.");
});

test("points of looks are bounded, and their sums exact", async () => {
  const { Looks, merged, ROOM, thinned } = await part("looks");
  const point = (begin, end, mean, calls = 1, change = null) => ({ begin, end, looks: 1, mean, min: mean, max: mean, calls, change });
  assert.deepEqual(merged(point(0, 1, 0.25, 3, 0.5), point(1, 4, 0.75, 4, 0.25)), { begin: 0, end: 4, looks: 2, mean: 0.625, min: 0.25, max: 0.75, calls: 7, change: 0.3125 });
  assert.equal(merged(point(0, 1, 0.2), point(1, 2, 0.2, 1, 0.3)).change, 0.3);
  assert.deepEqual(thinned([point(0, 1, 0), point(1, 2, 0), point(5, 6, 0), point(6, 7, 0), point(7, 8, 0)]).map((one) => [one.begin, one.end]), [[0, 2], [5, 7], [7, 8]]);
  assert.deepEqual(thinned([point(0, 1, 0), point(2, 3, 0)]).length, 2, "a hole stays a hole");
  const looks = new Looks();
  let [sum, calls] = [0, 0];
  for (let at = 1; at <= 5000; at++) {
    const share = (at % 7) / 10;
    sum += share;
    calls += at;
    looks.add({ ...look(), look: at, time_ns: at * 1e9, interval_ns: 1e9, recent_mpi_share: share, new_events: at, change: at % 2 ? 0.1 : null });
    assert.ok(looks.points.length <= ROOM);
  }
  assert.ok(looks.points.length > ROOM / 2 - 1);
  assert.equal(looks.points.reduce((all, one) => all + one.looks, 0), 5000);
  assert.equal(looks.points.reduce((all, one) => all + one.calls, 0), calls);
  const mean = looks.points.reduce((all, one) => all + one.mean * (one.end - one.begin), 0) / 5000e9;
  assert.ok(Math.abs(mean - sum / 5000) < 1e-9);
  assert.deepEqual([looks.points[0].begin, looks.points.at(-1).end], [0, 5000e9]);
  assert.ok(looks.points.every((one, at) => one.min <= one.mean && one.mean <= one.max && (at === 0 || one.begin === looks.points[at - 1].end)));
  const holes = new Looks(8);
  for (let at = 1; at <= 40; at++) holes.add({ ...look(), look: at, time_ns: at * 3e9, interval_ns: 1e9 });
  assert.ok(holes.points.length <= 8 && holes.points.at(-1).end === 120e9, "holes do not break the bound");
  const again = new Looks();
  for (const at of [1, 2, 2, 3]) again.add(sample(at));
  assert.equal(again.points.length, 3, "the look that comes again with a connection");
  again.add(sample(1));
  assert.equal(again.points.length, 1, "another watch begins anew");
});

test("rows are in order, and both ends of many", async () => {
  const { ends, ordered } = await part("order");
  const rows = [3, null, 1, 3, 2].map((value, at) => ({ value, at }));
  const places = (down) => ordered(rows, (row) => row.value, down).map((row) => row.at);
  assert.deepEqual(places(false), [2, 4, 0, 3, 1]);
  assert.deepEqual(places(true), [0, 3, 4, 2, 1], "missing values are last; equal ones stay as they came");
  assert.deepEqual(ordered(["b", "a", "c"], (row) => row, true), ["c", "b", "a"]);
  const numbers = Array.from({ length: 100 }, (_, at) => at);
  const { first, between, last } = ends(numbers, 16);
  assert.deepEqual([first.length, between.length, last.length, first[15], between[0], last[0]], [16, 68, 16, 15, 16, 84]);
  assert.deepEqual(ends([1, 2, 3], 2), { first: [1, 2, 3], between: [], last: [] });
});

test("scales, times, kinds of calls, notes", async () => {
  const { durationScale, roundUp } = await part("durations");
  const group = (mean_ns, max_ns) => ({ begin_ns: 0, count: 2, mean_ns, min_ns: mean_ns, max_ns });
  assert.deepEqual([durationScale([group(10, 12), group(20, 100)]).top, durationScale([group(10, 12), group(20, 100)]).isCut], [40, true]);
  assert.deepEqual([durationScale([group(10, 12), group(20, 30)]).top, durationScale([group(10, 20)]).isCut], [30, false]);
  assert.equal(durationScale([]), null);
  assert.deepEqual([0.245, 0.3, 1200, 90_000, 7.1, 0].map(roundUp), [0.3, 0.3, 1500, 100_000, 10, 1]);
  const { moments } = await part("time-axis");
  assert.deepEqual(moments(0, 42e9, 8).map((one) => one.text), ["0 s", "10 s", "20 s", "30 s", "40 s"]);
  assert.deepEqual(moments(3600e9, 3900e9, 6).map((one) => one.text), ["1 h", "1 h 1 min", "1 h 2 min", "1 h 3 min", "1 h 4 min", "1 h 5 min"]);
  assert.deepEqual(moments(0, 0.5e9, 5).map((one) => one.text), ["0 ms", "100 ms", "200 ms", "300 ms", "400 ms", "500 ms"]);
  const { lasting, latest, word } = await part("words");
  assert.deepEqual([0, 12.34e9, 119.9e9, 120e9, 3725e9, 90_061e9].map(lasting), ["0 s", "12.3 s", "120 s", "2 min 0 s", "1 h 2 min", "1 d 1 h"]);
  assert.deepEqual([latest(1.02e9), latest(1.2e9)], ["the last second", "the last 1.20 s"]);
  assert.deepEqual(["runs/a-1", "a b", "it's", "-x", "$(x)"].map(word), ["runs/a-1", "'a b'", "'it'\\''s'", "'-x'", "'$(x)'"]);
  const { category, isBracket } = await part("category");
  // The cases of `talea_analysis::procedures`, and others of its table.
  const kinds = {
    waiting: ["Waitall", "Recv_c", "Testsome", "Iprobe", "Win_flush_local_all", "Win_lock", "Request_get_status_any", "Parrived"], transfer: ["Isend", "Startall", "Put", "Irecv", "Imrecv", "Sendrecv_replace", "Rget_accumulate", "Pready_range", "Win_post", "Bsend"],
    collective: ["Iallreduce_c", "Barrier", "Win_fence", "Neighbor_alltoallw", "Ineighbor_allgatherv", "Reduce_scatter_block", "Iscan"], io: ["File_iread_all"], setup: ["Allreduce_init", "Send_init", "Comm_split", "Intercomm_create", "Init", "?"],
  };
  for (const [kind, names] of Object.entries(kinds)) for (const name of names) assert.equal(category(`MPI_${name} x.c:1`), kind, name);
  assert.deepEqual(["MPI_Init_thread a.c:1", "MPI_Finalize b.c:2", "MPI_Initialized c.c:3"].map(isBracket), [true, true, false]);
  const { gapSentence, gathered, notes } = await part("notes");
  const gap = (rank, detail, count = 0) => ({ kind: "missing", rank, detail, count });
  assert.deepEqual(gathered([gap(0, "a"), gap(1, "a"), gap(undefined, "a"), gap(2, "b")]).map((one) => one.detail), ["ranks 0, 1: a", "rank 2: b"]);
  assert.equal(gathered(Array.from({ length: 20 }, (_, rank) => gap(rank, "a")))[0].detail, "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 12 more: a");
  assert.deepEqual([gapSentence(gap(0, "lost", 1234)), gapSentence(gap(0, "1,234 lost", 1234)), gapSentence(gap(0, "lost"))], ["lost (1,234)", "1,234 lost", "lost"]);
  const stream = (changes) => ({ state: "open", since: null, silent: null, paused: null, look: 7, ...changes });
  const words = (changes) => notes(stream(changes), { name: "a b", command: "x", every_ns: 1e9 }).map((one) => `${one.kind} ${one.text}`);
  assert.deepEqual(words({}), []);
  assert.deepEqual(words({ state: "ended" }), ["the run has ended: `talea show 'a b' structure` shows its structure, `talea report 'a b'` writes its report"]);
  assert.deepEqual(words({ state: "lost", since: new Date(2026, 0, 1, 12, 3, 10) }), ["no connection to talea since 12:03:10; values are of look 7"]);
  assert.deepEqual(words({ silent: new Date(2026, 0, 1, 12, 3, 10) }), ["no look since 12:03:10; one is due every 1.00 s; values are of look 7"]);
  assert.deepEqual(words({ look: null }), ["waiting for the first look"]);
  assert.deepEqual(words({ paused: { look: 7, newer: 3 } }), ["paused at look 7; 3 newer looks"]);
});

let browser;
/** Servers of tests, also of those that failed. */
const open = new Set();
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
});
after(async () => {
  await browser?.close();
  for (const one of open) await one.close();
});

/** The page of a new run after some looks, and what went wrong on it so far. */
async function visit(looks, { head, width = 1280, dark = false, expected = /^$/, alter } = {}) {
  const site = await serve(head);
  open.add(site);
  const context = await browser.newContext({ viewport: { width, height: 1000 }, colorScheme: dark ? "dark" : "light", acceptDownloads: true });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !expected.test(message.text())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(site.url) && !/^(blob|data):/.test(request.url())) faults.push(`request: ${request.url()}`);
  });
  if (alter) await page.addInitScript(alter);
  await page.goto(site.url);
  /** Sends a look and waits until it is drawn. */
  const send = async (data) => {
    site.send(data);
    await drawn(page, data.look);
  };
  await page.waitForFunction(() => document.querySelector("h1")?.textContent !== "talea watch");
  for (const one of looks) await send(one);
  return { site, page, faults, send, done: async () => { await context.close(); await site.close(); } };
}

/** Waits until the page shows a look, and its plots are drawn in their widths. */
async function drawn(page, number) {
  await page.waitForFunction((text) => document.querySelector(".facts")?.textContent.includes(text), `look ${String(number).replace(/\B(?=(\d{3})+$)/g, ",")}`);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
}

const looks = (from, to, options) => Array.from({ length: to - from + 1 }, (_, at) => sample(from + at, options));
const column = (page, panel, at) => page.locator(`#${panel} tbody tr:not(.space)`).evaluateAll((rows, at) => rows.map((row) => row.children[at].textContent), at);

for (const width of [480, 1280, 1920]) {
  for (const count of [4, 512]) {
    test(`${count} ranks at ${width}: everything is shown, without errors or sideways scrolling`, async () => {
      const { page, faults, done } = await visit(looks(30, 33, { ranks: count, hosts: count / 4 }), { width, dark: width === 1920 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
      assert.match(await page.locator("h1").textContent(), /^lammps-4 mpirun -n 4 lmp -in melt\.in$/);
      assert.match(await page.locator(".facts").textContent(), new RegExp(`^running${count} ranks on ${count === 4 ? "node01" : "128 hosts"}33\\.0 s since MPI_Init.*look 33, one every 1\\.00 s$`));
      assert.equal(await page.title(), "lammps-4 \u00b7 running \u00b7 talea");
      assert.match(await page.locator(".gaps").textContent(), /gaps: none/);
      assert.match(await page.locator(".findings li").first().textContent(), /^93\.1 % of the time of rank 0 is one loop of 1,06\d iterations/);
      assert.equal(await page.locator("#iterations path.median").count(), 1);
      assert.equal(await page.locator("#looks path.line").count(), 3);
      assert.equal(await page.locator("#sites tbody tr:not(.space)").count(), 8);
      assert.equal(await page.locator("#clusters tbody tr:not(.space)").count(), 3);
      assert.equal(await page.locator("#ranks tbody tr:not(.space)").count(), count === 4 ? 4 : 32);
      assert.equal(await page.locator(".mix b").evaluateAll((all) => all.reduce((sum, one) => sum + Number(one.textContent), 0)), count);
      assert.deepEqual(faults, []);
      await done();
    });
  }
}

test("figures are those of the look, and change in place", async () => {
  const { page, faults, send, done } = await visit(looks(20, 21));
  const check = async (data) => {
    const percent = (part) => (part === 0 ? "0 %" : part < 0.0005 ? "< 0.1 %" : `${(part * 100).toFixed(1)} %`);
    const byNow = [...data.sites].sort((a, b) => b.recent_share - a.recent_share);
    assert.deepEqual(await column(page, "sites", 0), byNow.map((one) => one.site));
    assert.deepEqual(await column(page, "sites", 1), byNow.map((one) => percent(one.recent_share)));
    assert.deepEqual(await column(page, "ranks", 0), ["0", "1", "2", "3"]);
    assert.deepEqual(await column(page, "ranks", 2), data.ranks.map((one) => percent(one.recent_mpi_share)));
    assert.deepEqual(await column(page, "ranks", 3), data.ranks.map((one) => percent(one.mpi_share)));
    assert.deepEqual(await column(page, "ranks", 4), data.ranks.map((one) => one.inside?.site ?? "outside MPI"));
  };
  await check(sample(21));
  await page.evaluate(() => { for (const one of document.querySelectorAll("td, .findings button, h1, #looks svg")) one.kept = true; });
  const places = () => page.locator(".panel").evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
  const before = await places();
  await send(sample(22));
  await check(sample(22));
  assert.ok(await page.evaluate(() => [...document.querySelectorAll("td, .findings button, h1, #looks svg")].every((one) => one.kept)), "elements stay");
  assert.deepEqual(await places(), before, "nothing moves");
  assert.equal(await page.locator("#sites tbody tr").nth(1).locator(".meter i").getAttribute("class"), "waiting");
  const left = await page.locator("#sites tbody tr").nth(1).locator(".meter i").evaluate((bar) => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width);
  assert.ok(Math.abs(left - sample(22).sites[0].recent_share / 0.07) < 0.01, String(left));
  assert.deepEqual(faults, []);
  await done();
});

test("sentences lead to their evidence; warnings come and go without moving the rest", async () => {
  const { page, faults, send, done } = await visit(looks(20, 20));
  const top = () => page.locator("#iterations").evaluate((one) => Math.round(one.getBoundingClientRect().top + scrollY));
  await page.locator(".findings button", { hasText: "ranks' time is in MPI" }).click();
  assert.equal(await page.evaluate(() => document.activeElement.id), "looks");
  const data = sample(21);
  data.ranks[3].inside = { site: "MPI_Recv x.c:20", since_ns: 12e9 };
  data.left_events = 14_000;
  await send(data);
  assert.deepEqual(await page.locator(".findings .warns").allTextContents(), ["Rank 3 has been in MPI_Recv x.c:20 for 12.0 s.", "14,000 calls are left for the next look: looks read more slowly than the program calls."]);
  assert.equal(await page.locator("#ranks td.strong").textContent(), "12.0 s");
  await page.locator(".findings .warns button").first().click();
  assert.equal(await page.evaluate(() => document.activeElement.id), "ranks");
  const with_ = await top();
  await send(sample(22));
  assert.equal(await page.locator(".findings .warns").count(), 0);
  assert.equal(await top(), with_);
  assert.deepEqual(faults, []);
  await done();
});

test("plots: exact values under the pointer, a cut scale says so, tables and files behind", async () => {
  const { page, faults, done } = await visit(looks(58, 60));
  const data = sample(60);
  assert.match(await page.locator("#iterations .legend").textContent(), /axis cut at 63\.0 ms, twice the highest mean/);
  assert.match(await page.locator("#iterations text.outlier").textContent(), /^longest 141 ms, above the axis$/);
  assert.ok(await page.locator("#iterations path.above").count() >= 1);
  const box = await page.locator("#iterations svg").boundingBox();
  await page.mouse.move(box.x + 62 + (box.width - 80) / 2, box.y + 100);
  const group = data.main_loop.history.find((one) => one.begin_ns + one.count * one.mean_ns >= data.time_ns / 2);
  const exact = (value) => `${String(value).replace(/\B(?=(\d{3})+$)/g, ",")} ns`;
  const tip = await page.locator(".bubble div").allTextContents();
  assert.match(tip[0], /^8 iterations from 29\.\d s$/);
  for (const [at, key] of [[1, "mean"], [2, "minimum"], [3, "maximum"]]) {
    const value = group[{ mean: "mean_ns", minimum: "min_ns", maximum: "max_ns" }[key]];
    assert.ok(tip[at].startsWith(key) && tip[at].endsWith(`(${exact(value)})`), `${tip[at]} ${value}`);
  }
  assert.equal(await page.locator("line.cursor[visibility=visible]").count(), 2, "the moment shows in both plots");
  await page.locator("#looks svg").focus();
  await page.keyboard.press("End");
  assert.match((await page.locator(".bubble div").allTextContents()).join("|"), /^59\.0 s to 60\.0 s\|\d+\.\d\d % in MPI\|[\d,]+ calls, [\d.]+ k\/s\|0\.\d\d % of the time on new edges$/);
  await page.locator("#iterations button", { hasText: "table" }).click();
  assert.equal(await page.locator("#iterations .behind tbody tr").count(), 100);
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#iterations button", { hasText: "csv" }).click()]);
  const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n");
  assert.equal(lines[0], "begin (ns),iterations,min (ns),mean (ns),max (ns)");
  assert.deepEqual(lines.slice(1).map((line) => line.split(",").map(Number)), data.main_loop.history.map((one) => [one.begin_ns, one.count, one.min_ns, one.mean_ns, one.max_ns]));
  const [second] = await Promise.all([page.waitForEvent("download"), page.locator("#ranks button", { hasText: "csv" }).click()]);
  assert.equal(readFileSync(await second.path(), "utf8").trim().split("\r\n").length, 5);
  assert.deepEqual(faults, []);
  await done();
});

test("time before the page was opened is hatched; the last minute can be chosen", async () => {
  const { page, faults, done } = await visit(looks(300, 303));
  assert.equal(await page.locator("#looks rect.hole title").textContent(), "before this page was opened");
  const ticks = () => page.locator("#iterations svg text").allTextContents();
  assert.ok((await ticks()).includes("5 min"));
  await page.locator("#looks button", { hasText: "1 min" }).click();
  assert.ok((await ticks()).includes("4 min 30 s") && !(await ticks()).includes("1 min"), String(await ticks()));
  assert.equal(await page.locator('#looks .tools button[aria-pressed="true"]').allTextContents().then((all) => all.join()), "1 min");
  assert.deepEqual(faults, []);
  await done();
});

test("tables sort by their heads, and keep the order", async () => {
  const { page, faults, send, done } = await visit(looks(30, 30, { ranks: 8, slow: 5 }));
  const order = async () => (await column(page, "ranks", 0)).join();
  const by = (key, down) => (look) => [...sample(look, { ranks: 8, slow: 5 }).ranks].sort((a, b) => (down ? b[key] - a[key] : a[key] - b[key])).map((one) => one.rank).join();
  assert.equal(await order(), "0,1,2,3,4,5,6,7");
  const head = page.locator("#ranks th button", { hasText: "in MPI" });
  await head.click();
  assert.equal(await order(), by("recent_mpi_share", true)(30));
  assert.equal(await page.locator("#ranks th[aria-sort=descending]").textContent(), "in MPI now\u2193");
  await send(sample(31, { ranks: 8, slow: 5 }));
  assert.equal(await order(), by("recent_mpi_share", true)(31));
  await head.click();
  assert.equal(await order(), by("recent_mpi_share", false)(31));
  assert.equal((await order())[0], "5");
  await page.locator("#sites th button", { hasText: "call site" }).click();
  const names = await column(page, "sites", 0);
  assert.deepEqual(names, [...names].sort());
  await page.locator("#sites th button", { hasText: "calls" }).click();
  assert.match((await column(page, "sites", 3))[0], /k$|^\d/);
  assert.equal(await page.locator("#sites th[aria-sort=descending]").textContent(), "calls\u2193");
  assert.deepEqual(faults, []);
  await done();
});

test("many ranks are folded, all are there, and only rows in the window are in the page", async () => {
  const options = { ranks: 4096, hosts: 64, slow: 77, ended: { 9: "killed" } };
  const { page, faults, send, done } = await visit([sample(30, options)]);
  const sorted = [...sample(30, options).ranks].sort((a, b) => b.recent_mpi_share - a.recent_mpi_share);
  const shown = (await column(page, "ranks", 0)).map(Number);
  assert.deepEqual(shown.slice(0, 16), sorted.slice(0, 16).map((one) => one.rank));
  assert.deepEqual(shown.slice(16), sorted.slice(-16).map((one) => one.rank));
  assert.match(await page.locator("#ranks .more").textContent(), /^show 4,064 more, \d+\.\d % to \d+\.\d % in MPI$/);
  assert.match(await page.locator("#ranks .note").textContent(), /^4,096 \u00b7 in MPI now: 3\.\d % to 2\d\.\d %, median 1\d\.\d %$/);
  assert.match(await page.locator(".findings").textContent(), /Rank 9 ended without MPI_Finalize \(killed or crashed\)\./);
  await page.locator("#ranks .heat canvas[tabindex]").focus();
  await page.keyboard.press("ArrowRight");
  assert.deepEqual((await page.locator(".bubble div").allTextContents())[0], "rank 1 on node01");
  await page.keyboard.press("Enter");
  assert.ok(await page.locator("#ranks tbody tr:not(.space)").count() < 60);
  assert.equal(await page.locator("#ranks tr.chosen td").first().textContent(), "1");
  await page.locator("#ranks th button", { hasText: "rank" }).click();
  await page.locator("#ranks .live.window").evaluate((window_) => { window_.scrollTop = 1e9; });
  await page.waitForFunction(() => [...document.querySelectorAll("#ranks tbody tr:not(.space)")].at(-1).children[0].textContent === "4095");
  await send(sample(31, options));
  assert.equal((await column(page, "ranks", 0)).at(-1), "4095", "the place in the window stays");
  assert.ok(await page.locator("#ranks tbody tr:not(.space)").count() < 60);
  await page.locator("#ranks button", { hasText: "fold" }).click();
  assert.equal(await page.locator("#ranks tbody tr:not(.space)").count(), 32);
  assert.deepEqual(faults, []);
  await done();
});

test("many call sites: the first twenty, then all", async () => {
  const data = sample(30);
  data.sites = Array.from({ length: 300 }, (_, at) => ({ site: `MPI_Send f.c:${at}`, calls: 300 - at, time_ns: (300 - at) * 1e6, share: (300 - at) / 1e5, recent_share: (300 - at) / 1e5 }));
  const { page, faults, done } = await visit([data]);
  assert.equal(await page.locator("#sites tbody tr:not(.space)").count(), 20);
  await page.locator("#sites .more", { hasText: "show 280 more" }).click();
  await page.waitForFunction(() => document.querySelector("#sites .live").scrollHeight > 250 * 20);
  assert.deepEqual(faults, []);
  await done();
});

test("before there is a loop, a call or a rank, the page says so", async () => {
  const first = { ...sample(1), main_loop: null, clusters: null, sites: [], change: null };
  const { page, faults, send, done } = await visit([{ ...first, look: 0, ranks: [], time_ns: 0, interval_ns: 0 }]);
  assert.deepEqual(await page.locator(".findings ol li").allTextContents(), ["No process has called MPI_Init yet."]);
  await send(first);
  assert.equal(await page.locator(".findings li").first().textContent(), "No main loop is known yet.");
  assert.match(await page.locator("#iterations .empty").textContent(), /^No main loop is known yet\. /);
  assert.equal(await page.locator("#iterations .tools").isHidden(), true);
  assert.match(await page.locator("#sites").textContent(), /No call has ended yet\./);
  assert.equal(await page.locator("#clusters").isHidden(), true);
  await send(sample(10));
  assert.equal(await page.locator("#iterations .empty").isHidden(), true);
  assert.equal(await page.locator("#iterations path.median").count(), 1);
  assert.deepEqual(faults, []);
  await done();
});

test("gaps are named, many fold, and what was opened stays open", async () => {
  const gap = (rank, kind, detail, count = 0) => ({ kind, ...(rank !== null && { rank }), detail, count });
  const gaps = [gap(0, "damaged", "the record contradicts itself: later calls are not read"), ...[1, 2].map((rank) => gap(rank, "missing", "14 calls were not kept: no room", 14)),
    gap(null, "unresolved", "symbols of libx.so were not found"), gap(null, "missing", "records", 12_345), gap(null, "estimated", "times of hosts"), gap(3, "ended-early", "it ended early")];
  const { page, faults, send, done } = await visit([{ ...sample(20), gaps }]);
  const lines = await page.locator(".gaps li").allTextContents();
  assert.deepEqual(lines.slice(0, 3), ["damaged rank 0: the record contradicts itself: later calls are not read", "missing ranks 1, 2: 14 calls were not kept: no room", "unresolved symbols of libx.so were not found"]);
  assert.ok(lines.includes("missing records (12,345)"));
  assert.equal(await page.locator(".gaps summary").textContent(), "and 3 more: missing, estimated, ended early");
  await page.locator(".gaps summary").click();
  await send({ ...sample(21), gaps });
  assert.equal(await page.locator(".gaps details").getAttribute("open"), "");
  assert.deepEqual(faults, []);
  await done();
});

test("hostile names are text", async () => {
  const data = sample(30, { ranks: 6 });
  data.main_loop.place = data.main_loop.counted_by = HOSTILE;
  data.sites.forEach((site) => { site.site = `MPI_Recv ${HOSTILE}`; });
  data.ranks.forEach((rank) => { Object.assign(rank, { host: `${HOSTILE}${rank.rank % 2}`, inside: { site: HOSTILE, since_ns: 9e9 } }); });
  data.clusters.clusters.forEach((one) => { one.after = one.before = HOSTILE; });
  data.gaps = [{ kind: HOSTILE, detail: HOSTILE, count: 3 }];
  const { page, faults, send, done } = await visit([data], { head: { name: HOSTILE, command: HOSTILE, every_ns: 1e9 } });
  await page.locator("#ranks tr:not(.space) td").first().hover();
  await send({ ...data, look: 31, running: false, new_events: 0 });
  await page.waitForFunction(() => document.querySelector(".news")?.textContent.includes("the run has ended"));
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.doesNotMatch(await page.locator("body").textContent(), /[\u202e\u061c\u200b]/u);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
  assert.deepEqual(faults, []);
  await done();
});

test("the space bar pauses and goes on with the newest look", async () => {
  const { site, page, faults, done } = await visit(looks(20, 20));
  await page.keyboard.press(" ");
  assert.match(await page.locator(".news").textContent(), /^paused at look 20$/);
  assert.match(await page.locator(".facts").textContent(), /^paused/);
  for (const one of looks(21, 23)) site.send(one);
  await page.waitForFunction(() => document.querySelector(".news").textContent === "paused at look 20; 3 newer looks");
  assert.match(await page.locator(".facts").textContent(), /look 20/);
  await page.locator("button", { hasText: "continue" }).click();
  await drawn(page, 23);
  assert.equal(await page.locator(".news").isHidden(), true);
  assert.equal(await page.locator("#looks .note").textContent().then((text) => text.split(" ")[0]), "4", "the looks between are kept");
  // The button has the focus: the space bar presses it, once.
  await page.keyboard.press(" ");
  assert.match(await page.locator(".news").textContent(), /^paused at look 23/);
  assert.deepEqual(faults, []);
  await done();
});

test("the last look stays, with the commands that show the run", async () => {
  const { site, page, faults, send, done } = await visit(looks(20, 21));
  const { connections } = site;
  await send({ ...sample(22, { last: true }), left_events: 12, new_events: 5 });
  assert.match(await page.locator(".facts").textContent(), /^ending/, "its last calls are still to come");
  await send(sample(23, { last: true, ended: { 2: "killed" } }));
  await page.waitForFunction(() => document.querySelector(".news")?.textContent.includes("ended"));
  assert.equal(await page.locator(".news").textContent(), "the run has ended: talea show runs/lammps-4 structure shows its structure, talea report runs/lammps-4 writes its report");
  assert.match(await page.locator(".facts").textContent(), /^ended4 ranks on node0123\.0 s since MPI_Init2\.21 M callslook 23$/);
  assert.match(await page.locator(".findings").textContent(), /12\.1 % of the ranks' time was in MPI\./);
  assert.match(await page.locator(".findings").textContent(), /Rank 2 ended without MPI_Finalize \(killed or crashed\)\./);
  assert.deepEqual(await column(page, "ranks", 4), ["finalized", "finalized", "killed", "finalized"]);
  assert.equal(await page.locator("button", { hasText: "pause" }).isHidden(), true);
  assert.equal(await page.title(), "lammps-4 \u00b7 ended \u00b7 talea");
  await site.close();
  await page.keyboard.press(" ");
  assert.doesNotMatch(await page.locator(".news").textContent(), /no connection|paused/, "nothing more is expected");
  assert.equal(site.connections, connections);
  assert.deepEqual(faults, []);
  await done();
});

test("a server that goes away leaves the last values; one that returns is followed", async () => {
  const { site, page, faults, done } = await visit(looks(20, 21), { expected: /Failed to load resource|ERR_/ });
  await site.close();
  await page.waitForFunction(() => document.querySelector(".news")?.textContent.startsWith("no connection"));
  assert.match(await page.locator(".news").textContent(), /^no connection to talea since \d\d:\d\d:\d\d; values are of look 21$/);
  assert.match(await page.locator(".facts").textContent(), /^no connection4 ranks/);
  assert.equal(await page.locator("#ranks tbody tr:not(.space)").count(), 4);
  const again = await serve(undefined, site.port);
  open.add(again);
  again.send(sample(30));
  await drawn(page, 30);
  assert.equal(await page.locator(".news").isHidden(), true);
  assert.equal(await page.locator("#looks rect.hole").count(), 2, "before the page was opened, and the looks that were missed");
  again.send("{no look");
  await page.waitForFunction(() => document.querySelector(".news")?.textContent.startsWith("damaged message"));
  again.send(sample(31));
  await drawn(page, 31);
  assert.equal(await page.locator(".news").isHidden(), true);
  assert.deepEqual(faults, []);
  await done();
  await again.close();
});

/** Waits of the page become short. */
const hurry = () => {
  const real = window.setTimeout;
  window.setTimeout = (action, wait) => real(action, Math.min(wait, 50));
};

test("an answer that is no stream is asked for again; a stream without looks is named", async () => {
  const { site, page, faults, done } = await visit([], { expected: /Failed to load resource|ERR_|text\/event-stream/, alter: hurry });
  site.refuses = true;
  site.drop();
  await page.waitForFunction(() => document.querySelector(".news").textContent.startsWith("no connection"));
  assert.match(await page.locator(".news").textContent(), /; no look was received$/);
  const { connections } = site;
  while (site.connections < connections + 2) await new Promise((soon) => setImmediate(soon));
  site.refuses = false;
  site.send(sample(30));
  await drawn(page, 30);
  await page.waitForFunction(() => document.querySelector(".news").textContent.startsWith("no look since"));
  assert.match(await page.locator(".news").textContent(), /^no look since \d\d:\d\d:\d\d; one is due every 1\.00 s; values are of look 30$/);
  site.send(sample(31));
  await drawn(page, 31);
  assert.deepEqual(faults, []);
  await done();
});

test("light and dark are the reader's choice, and kept", async () => {
  const { page, faults, done } = await visit(looks(30, 30, { ranks: 100 }));
  const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  assert.equal(await paper(), "rgb(255, 255, 255)");
  await page.locator("button", { hasText: "light/dark" }).click();
  assert.equal(await paper(), "rgb(20, 24, 29)");
  await page.reload();
  await drawn(page, 30);
  assert.equal(await paper(), "rgb(20, 24, 29)");
  assert.deepEqual(faults, []);
  await done();
});
