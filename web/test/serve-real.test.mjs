// The server's pages before the real server and a real store: what they show is what its routes say, to each what he may see.
//
// The server is the example `site` of talea-serve.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { example, root } from "./examples.mjs";

const folder = mkdtempSync(join(tmpdir(), "talea-site-"));
let server;
let url;
let browser;

before(async () => {
  const [command, ...words] = example("talea-serve", "site");
  server = spawn(command, [...words, folder], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  url = await new Promise((found, lost) => {
    createInterface({ input: server.stdout }).once("line", found);
    server.once("exit", (code) => lost(new Error(`the server ended with ${code}`)));
  });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
});
after(async () => {
  await browser?.close();
  if (server && server.exitCode === null) {
    server.kill("SIGTERM");
    await new Promise((done) => server.once("exit", done));
  }
  rmSync(folder, { recursive: true, force: true });
});

const settled = (page) => page.waitForFunction(() => document.querySelector("main")?.dataset.shown === location.hash && /^as of/.test(document.querySelector(".state")?.textContent ?? ""));
const percent = (part) => `${(part * 100).toFixed(1)} %`;

/** Logs in through the page, which then shows what the address names. */
async function visit(user, hash, { dark = false, width = 1400 } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light" });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => {
    const text = `${message.text()} ${message.location().url}`;
    // A browser says so of every 401, and the first question is who one is.
    if (["error", "warning"].includes(message.type()) && !/401 .*\/me$/.test(text)) faults.push(text);
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.goto(`${url}/${hash}`);
  await page.waitForSelector(".login");
  await page.locator("#user").fill(user);
  await page.locator("#password").fill("correct horse");
  await page.keyboard.press("Enter");
  await settled(page);
  const show = async (next) => {
    await page.goto(`${url}/${next}`);
    await settled(page);
  };
  const api = async (path) => {
    const response = await context.request.get(`${url}/api/v1/${path}`);
    return response.ok() ? response.json() : null;
  };
  return { page, faults, show, api, done: () => context.close() };
}

const PAGES = ["#/machine?last=6h", "#/machine?last=6h&node=n02", "#/job?id=4711", "#/jobs?last=6h", "#/software?last=6h", "#/software?last=6h&what=file&of=executable", "#/findings?last=6h",
  `#/of?last=6h&library=${encodeURIComponent("/opt/lammps/bin/lmp_mpi")}`, "#/of?last=6h&user=1001", "#/search?q=lib&last=6h"];

test("every page, no errors, in the policy of the server", async () => {
  const { page, faults, show, done } = await visit("root", PAGES[0]);
  for (const hash of PAGES) {
    await show(hash);
    assert.ok((await page.locator("main").textContent()).length > 60, hash);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, hash);
  }
  assert.deepEqual(faults, []);
  await done();
});

test("figures are those of the routes", async () => {
  const { page, faults, show, api, done } = await visit("root", "#/machine?last=6h");
  const activities = await api("usage?last=6h&by=activity");
  assert.deepEqual(activities.rows.map((row) => row.activity).sort(), ["idle", "kernel", "mpi", "user", "waiting"]);
  for (const row of activities.rows) assert.equal(await page.locator(`.mix b[data-activity=${row.activity}]`).textContent(), percent(row.share));
  for (const [panel, by] of [["jobs", "job"], ["executables", "executable"], ["libraries", "library"]]) {
    const rows = (await api(`usage?last=6h&by=${by}`)).rows.filter((row) => row[by] !== null);
    const bars = await page.locator(`#${panel} .whisker`).evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
    assert.equal(bars.length, Math.min(10, rows.length), panel);
    bars.forEach((bar, at) => assert.equal(bar, `${percent(rows[at].share)}, 95 % interval ${percent(rows[at].low)} to ${percent(rows[at].high)}`));
  }
  assert.match(await page.locator("#nodes .note").textContent(), /^8 nodes, 1 silent now; a column is 10 min/);
  await page.locator("#nodes .tools button", { hasText: "table" }).click();
  const nodes = (await api("usage?last=6h&by=node")).rows;
  assert.deepEqual(await page.locator("#nodes .behind tbody td:nth-child(7)").allTextContents().then((all) => all.map((text) => Number(text.replace(/[\s,]/g, ""))).sort((a, b) => a - b)),
    nodes.map((row) => row.samples).sort((a, b) => a - b));
  await show("#/job?id=4711");
  const job = await api("jobs/4711");
  const parts = await api(`usage?job=4711&by=library`);
  const busy = parts.rows.find((row) => row.library === "/opt/lammps/bin/lmp_mpi").samples / parts.matched_samples;
  assert.match(await page.locator("#by-library tbody tr").first().textContent(), new RegExp(`lmp_mpi.*${percent(busy)}`));
  assert.match(await page.locator(".title").textContent(), new RegExp(`user 1001.*${job.nodes} nodes`));
  assert.match(await page.locator("#by-phase").textContent(), /pair.*exchange/);
  assert.match(await page.locator("#by-function").textContent(), /function_1000/);
  // Bars of cores are the job's own, and so are rates: both in thousand millions a second.
  const spread = job.spreads.find((one) => one.counter === "instructions");
  assert.ok((await page.locator(".spread", { hasText: "instructions" }).textContent()).includes(`${(spread.quantiles[5] / 1e9).toFixed(2)} G/s`));
  for (const by of ["library", "phase"]) {
    const rows = (await api(`rates?job=4711&by=${by}`)).rows.filter((row) => row.counter === "instructions");
    const shown = await page.locator(`#rates-${by} tbody`).textContent();
    assert.ok(rows.length >= 2);
    for (const row of rows) assert.ok(shown.includes(`${(row.rate / 1e9).toFixed(2)} G/s`), `${by}: ${row.rate} in ${shown}`);
  }
  assert.match(await page.locator("#roofline").textContent(), /missing: flops and memory-bytes/);
  assert.deepEqual(faults, []);
  await done();
});

test("a user sees own jobs only, and is told so", async () => {
  const { page, faults, show, done } = await visit("ada", "#/machine?last=6h");
  for (const hash of PAGES) {
    await show(hash);
    assert.equal(await page.locator(".own").textContent(), "your jobs only");
    assert.doesNotMatch(await page.locator("#app").innerHTML(), /4712_3|1002|ben\/|libmkl|solver|n08|idle-cores/, hash);
  }
  assert.deepEqual(faults, []);
  await show("#/job?id=4712_3");
  const other = await page.locator(".findings").textContent();
  await show("#/job?id=nothing");
  assert.equal(other.replace("4712_3", "nothing"), await page.locator(".findings").textContent());
  await done();
});

test("hostile names are text", async () => {
  const { page, faults, show, api, done } = await visit("ada", "#/jobs?last=6h");
  const name = (await api("jobs?last=6h")).jobs.find((job) => /img src/.test(job.job)).job;
  for (const hash of ["#/jobs?last=6h", "#/machine?last=6h", `#/job?id=${encodeURIComponent(name)}`, `#/of?last=6h&phase=${encodeURIComponent(name)}`, "#/search?q=onerror&last=6h"]) {
    await show(hash);
    assert.match(await page.locator("main").textContent(), /<img src=x onerror/, hash);
    assert.equal(await page.evaluate(() => window.broken), undefined);
    assert.equal(await page.locator("#app img, #app script").count(), 0);
  }
  assert.deepEqual(faults, []);
  await done();
});

test("who is logged out sees nothing", async () => {
  const { page, done } = await visit("ben", "#/jobs?last=6h");
  await page.locator("button", { hasText: "log out" }).click();
  await page.waitForSelector(".login");
  await page.goBack().catch(() => undefined);
  await page.goto(`${url}/#/jobs?last=6h`);
  await page.waitForSelector(".login");
  assert.doesNotMatch(await page.locator("body").textContent(), /4712_3/);
  await done();
});
