// The server's pages in a browser, before a made-up site whose answers are known: they show what the routes say, remember
// everything in the address, stay quiet whatever names there are, and go on when the server does not.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { HOSTILE, serve, site } from "./serve-site.mjs";

const sites = {};
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
  sites.small = await serve(site());
  sites.hostile = await serve(site({ hostile: true, nodes: 10 }));
  const many = site({ nodes: 1, cores: 1, hours: 1, silent: [] });
  many.rows = Array.from({ length: 130 }, (_, at) => ({ ...many.rows[0], job: `j${at}`, user: 1001, activity: "user" }));
  sites.many = await serve(many);
  const again = site({ nodes: 1, cores: 1, hours: 1, silent: [] });
  again.rows = again.rows.slice(0, 12).map((row, at) => ({ ...row, job: "7", user: at < 8 ? 1001 : 1002, activity: "user", library: at < 8 ? "/lib/one.so" : "/lib/two.so" }));
  sites.again = await serve(again);
  const pairs = site({ nodes: 1, cores: 1, hours: 1, silent: [] });
  pairs.rows = Array.from({ length: 450 }, (_, at) => ({ ...pairs.rows[0], job: "8", user: 1001, activity: "user", library: `/lib/l${at % 18}.so`, phase: `phase ${Math.floor(at / 18)}`, samples: 1000 - at }));
  sites.pairs = await serve(pairs);
  // A job of thirty days on four nodes, as that of the benchmark.
  const month = site({ nodes: 4, cores: 1, hours: 1, silent: [] });
  month.rows = month.names.flatMap((node) => [-30 * 86_400e9, -month.width].map((before) => ({ ...month.rows[0], node, begin: month.last + before, job: "4711", user: 1001, activity: "user", library: "/lib/one.so" })));
  sites.month = await serve(month);
  const refused = site({ nodes: 2, cores: 1, hours: 1, silent: [] });
  refused.refused = [{ node: "n01", requests: 3, last_ns: 1e18, why: "1000 samples of core 0" }, { node: HOSTILE, requests: 1, last_ns: 2e18, why: HOSTILE }];
  sites.refused = await serve(refused);
  sites.large = await serve(site({ nodes: 1200, cores: 8, hours: 1, silent: [100, 900] }));
});
after(async () => {
  await browser?.close();
  for (const one of Object.values(sites)) one.close();
});

/** Waits until the page that the address names has its figures. */
const settled = (page) => page.waitForFunction(() => document.querySelector("main")?.dataset.shown === location.hash && /^(as of|nothing is shown)/.test(document.querySelector(".state")?.textContent ?? ""));

/** A page of a site, and what went wrong on it so far. */
async function visit(hash, { name = "small", user = "root", width = 1400, dark = false, expected = /^$/ } = {}) {
  const { url } = sites[name];
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light", acceptDownloads: true });
  if (user) await context.addCookies([{ name: "talea_session", value: user, url }]);
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !expected.test(message.text())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !/^(blob|data):/.test(request.url())) faults.push(`request: ${request.url()}`);
  });
  await page.goto(`${url}/${hash}`);
  if (user) await settled(page);
  const api = async (path) => (await context.request.get(`${url}/api/v1/${path}`)).json();
  return { page, faults, api, done: () => context.close() };
}

const PAGES = {
  machine: "#/machine?last=6h", node: "#/machine?last=6h&node=n03", job: "#/job?id=4711", jobs: "#/jobs?last=6h", software: "#/software?last=6h", files: "#/software?last=6h&what=file&of=executable",
  findings: "#/findings?last=6h", library: `#/of?last=6h&library=${encodeURIComponent("/lib/x86_64-linux-gnu/libm.so.6")}`, search: "#/search?q=lib&last=6h",
};
for (const [name, hash] of Object.entries(PAGES)) {
  for (const width of [480, 1280, 1920]) {
    test(`${name} at ${width}: no errors, no requests elsewhere, no sideways scrolling`, async () => {
      const { page, faults, done } = await visit(hash, { width, dark: width === 1920 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
      assert.ok((await page.locator("main").textContent()).length > 60);
      assert.deepEqual(faults, []);
      await done();
    });
  }
}

test("figures are those of the routes", async () => {
  const { page, faults, api, done } = await visit(PAGES.machine);
  const activities = await api("usage?last=6h&by=activity");
  for (const row of activities.rows) {
    assert.equal(await page.locator(`.mix b[data-activity=${row.activity}]`).textContent(), `${(row.share * 100).toFixed(1)} %`);
  }
  // Time in MPI is said to be a lower bound wherever it is shown.
  assert.match(await page.locator(".mix").textContent(), /time in MPI is a lower bound/);
  assert.match(await page.locator(".mix li", { hasText: "in MPI" }).textContent(), /in MPI \u2265\s*\d/);
  assert.match(await page.locator(".findings").textContent(), /at least \d[^,;]* in MPI/);
  assert.match(await page.locator("#nodes").textContent(), /in MPI \(lower bound\)/);
  const jobs = (await api("usage?last=6h&by=job,user")).rows.filter((row) => row.job !== null);
  const shown = await page.locator("#jobs tbody tr").allTextContents();
  assert.equal(shown.length, jobs.length);
  jobs.forEach((row, at) => {
    assert.ok(shown[at].startsWith(row.job), shown[at]);
    assert.ok(shown[at].includes(`${(row.share * 100).toFixed(1)} %`), shown[at]);
  });
  const label = await page.locator("#jobs .whisker").first().getAttribute("aria-label");
  assert.equal(label, `${(jobs[0].share * 100).toFixed(1)} %, 95 % interval ${(jobs[0].low * 100).toFixed(1)} % to ${(jobs[0].high * 100).toFixed(1)} %`);
  await page.goto(`${sites.small.url}/${PAGES.software}`);
  await page.waitForSelector("#software tbody tr");
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#software button", { hasText: "csv" }).click()]);
  const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n").slice(1).map((line) => line.split(","));
  const libraries = await api("usage?last=6h&by=library");
  const total = libraries.rows.filter((row) => row.library !== null).reduce((sum, row) => sum + row.core_seconds, 0);
  assert.equal(lines.reduce((sum, line) => sum + Number(line[4]), 0), total, "packages have all of the libraries' time");
  const mkl = libraries.rows.filter((row) => /libmkl/.test(row.library ?? "")).reduce((sum, row) => sum + row.core_seconds, 0);
  assert.equal(Number(lines.find((line) => line[0] === "MKL")[4]), mkl);
  assert.deepEqual(faults, []);
  await done();
});

test("one logs in, is told what was wrong, comes to the page of the address, and logs out", async () => {
  const { page, faults, done } = await visit("#/jobs?last=6h", { user: null, expected: /401/ });
  await page.waitForSelector(".login");
  await page.locator("#user").fill("ada");
  await page.locator("#password").fill("wrong");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".login .bad").textContent !== "");
  assert.match(await page.locator(".login .bad").textContent(), /No user/);
  await page.locator("#password").fill("pass");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(page.url(), /#\/jobs\?last=6h$/);
  assert.match(await page.locator(".who").textContent(), /ada.*your jobs only/);
  await page.locator("button", { hasText: "log out" }).click();
  await page.waitForSelector(".login");
  assert.doesNotMatch(await page.locator("body").textContent(), /4711/);
  assert.deepEqual(faults, []);
  await done();
});

test("a user's pages have nothing of others", async () => {
  for (const hash of Object.values(PAGES)) {
    const { page, faults, done } = await visit(hash, { user: "ada" });
    assert.equal(await page.locator(".own").textContent(), "your jobs only");
    assert.doesNotMatch(await page.content(), /4713_2|4720|user 100[23]|cc1plus|libopenblas/);
    assert.deepEqual(faults, []);
    await done();
  }
  const { page, done } = await visit("#/job?id=4713_2", { user: "ada", expected: /404/ });
  assert.match(await page.locator(".findings").textContent(), /There is no job .* that you may see/);
  await done();
});

test("the address keeps every choice, and Back undoes it", async () => {
  const { page, faults, done } = await visit(PAGES.machine);
  await page.locator("#nodes .choices button", { hasText: "waiting" }).click();
  await page.waitForFunction(() => /show=waiting/.test(location.hash));
  await page.locator("#nodes .choices button", { hasText: "value" }).click();
  await page.waitForFunction(() => /order=value/.test(location.hash));
  await page.reload();
  await settled(page);
  assert.equal(await page.locator('#nodes .choices button[aria-pressed="true"]').allTextContents().then((all) => all.join()), "waiting,value");
  await page.goBack();
  await page.waitForFunction(() => !/order=value/.test(location.hash));
  await settled(page);
  assert.equal(await page.locator('#nodes .choices button[aria-pressed="true"]').allTextContents().then((all) => all.join()), "waiting,name");
  await page.locator(".times select").selectOption("24h");
  await page.waitForFunction(() => /last=24h/.test(location.hash));
  await page.locator(".masthead nav a", { hasText: "software" }).click();
  await settled(page);
  assert.match(page.url(), /#\/software\?last=24h$/, "times go along");
  await page.locator("#software .choices button", { hasText: "executables" }).click();
  await page.locator("#software th button", { hasText: "samples" }).click();
  await page.locator("#software th button", { hasText: "samples" }).click();
  await page.locator("#software input").fill("lamm");
  await page.waitForFunction(() => /q=lamm/.test(location.hash));
  const rows = await page.locator("#software tbody").textContent();
  await page.reload();
  await settled(page);
  assert.equal(await page.locator("#software tbody").textContent(), rows);
  assert.match(page.url(), /of=executable.*sort=samples|sort=samples.*of=executable/);
  await page.locator(".times select").selectOption("between");
  await page.locator(".between button").click();
  await page.waitForFunction(() => /from=.*to=/.test(location.hash));
  await settled(page);
  assert.doesNotMatch(await page.locator(".state").textContent(), /every 30 s/);
  assert.deepEqual(faults, []);
  await done();
});

test("asked again, figures change in place", async () => {
  const { page, faults, done } = await visit(PAGES.machine);
  await page.evaluate(() => { scrollTo(0, 200); document.querySelector("#nodes canvas").dataset.mark = "same"; });
  await page.locator("#jobs th button").first().focus();
  const before = await page.evaluate(() => scrollY);
  // Nothing may vanish in between: the page is never shorter than it was.
  await page.evaluate(() => {
    window.least = Infinity;
    new ResizeObserver(() => { window.least = Math.min(window.least, document.querySelector("main").offsetHeight); }).observe(document.querySelector("main"));
  });
  const tall = await page.evaluate(() => document.querySelector("main").offsetHeight);
  const again = async () => {
    await page.evaluate(() => { delete document.querySelector("main").dataset.shown; [...document.querySelectorAll(".masthead button")].find((one) => one.textContent === "refresh").click(); });
    await settled(page);
  };
  await again();
  assert.equal(await page.locator("#nodes canvas").getAttribute("data-mark"), "same");
  assert.equal(await page.evaluate(() => scrollY), before);
  assert.equal(await page.evaluate(() => document.activeElement?.dataset.key), "head0");
  assert.ok((await page.evaluate(() => window.least)) >= tall - 1);
  for (const place of ["#libraries tbody a >> nth=2", ".findings li a >> nth=1"]) {
    await page.locator(place).focus();
    const text = await page.evaluate(() => document.activeElement.textContent);
    await again();
    assert.equal(await page.evaluate(() => document.activeElement.textContent), text, "the focus stays");
  }
  assert.deepEqual(faults, []);
  await done();
});

test("pages of what is now ask again by themselves, those of the past do not", async () => {
  const { page, faults, done } = await visit(PAGES.jobs);
  const asks = () => page.waitForRequest(/api\/v1\/jobs\?/, { timeout: 5000 });
  await page.clock.install();
  await page.reload();
  await settled(page);
  // The next time begins with the answer: until then no clock that goes on would make it ask.
  for (let time = 0; time < 3; time++) {
    await Promise.all([asks(), page.clock.fastForward(31_000)]);
    await settled(page);
  }
  await page.goto(`${sites.small.url}/#/jobs?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z`);
  await settled(page);
  let asked = 0;
  page.on("request", () => asked++);
  await page.clock.fastForward(90_000);
  await page.evaluate(() => fetch("assets/app.css"));
  assert.equal(asked, 1, "only what the test asked for");
  assert.deepEqual(faults, []);
  await done();
});

test("what is being chosen stays while the page asks again", async () => {
  const { page, faults, done } = await visit(PAGES.jobs);
  await page.locator(".times select").selectOption("between");
  await page.locator(".between input").first().fill("2026-01-02T03:04");
  await page.locator("button", { hasText: "refresh" }).click();
  await settled(page);
  assert.equal(await page.locator(".between input").first().inputValue(), "2026-01-02T03:04");
  assert.deepEqual(faults, []);
  await done();
});

test("when the server fails, the figures stay and the page says so", async () => {
  const { page, done } = await visit(PAGES.jobs, { expected: /503|401|Failed to load|ERR_/ });
  await page.route("**/api/v1/**", (route) => route.abort());
  await page.locator("button", { hasText: "refresh" }).click();
  await page.waitForFunction(() => /does not answer; the figures are older/.test(document.querySelector(".state.bad")?.textContent ?? ""));
  assert.equal(await page.locator("#jobs tbody tr").count(), 5);
  await page.unroute("**/api/v1/**");
  await page.route("**/api/v1/jobs**", (route) => route.fulfill({ status: 503, contentType: "application/json", body: '{"error": "the store takes nothing now <b>"}' }));
  await page.locator("button", { hasText: "refresh" }).click();
  await page.waitForFunction(() => /the store takes nothing now <b>/.test(document.querySelector(".state.bad")?.textContent ?? ""));
  assert.equal(await page.locator("#jobs tbody tr").count(), 5);
  await page.unroute("**/api/v1/jobs**");
  await page.route("**/api/v1/**", (route) => route.fulfill({ status: 401, contentType: "application/json", body: '{"error": "nobody is logged in"}' }));
  await page.locator("button", { hasText: "refresh" }).click();
  await page.waitForSelector(".login");
  await done();
});

test("hostile names are shown as text, on every page", async () => {
  const names = encodeURIComponent(HOSTILE);
  for (const hash of [...Object.values(PAGES), `#/job?id=${names}`, `#/of?last=6h&phase=${names}`, `#/of?last=6h&library=${encodeURIComponent(`/tmp/${HOSTILE}.so`)}`, `#/search?q=${names}`, "#/__proto__?constructor=1", "#/machine?rows=9-1&show=__proto__&last=0x&from=never", "#//"]) {
    const { page, faults, done } = await visit(hash, { name: "hostile", expected: /404/ });
    assert.equal(await page.evaluate(() => window.broken), undefined);
    assert.equal(await page.locator("#app img, #app script").count(), 0);
    const turned = await page.evaluate(() => /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u.test(document.body.textContent));
    assert.equal(turned, false, "no marks that turn the direction of writing");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${hash.slice(0, 40)} is ${wide} pixels too wide`);
    assert.deepEqual(faults, [], hash);
    await done();
  }
});

test("the keyboard reaches the search and the heat map", async () => {
  const { page, faults, done } = await visit(PAGES.machine);
  await page.keyboard.press("/");
  await page.keyboard.type("471");
  await page.waitForSelector(".hits a");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /#\/job\?id=4711/.test(location.hash));
  await settled(page);
  await page.goBack();
  await settled(page);
  await page.locator("#nodes canvas").focus();
  for (const key of ["ArrowRight", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  assert.match(await page.locator(".bubble").textContent(), /^n03.*user \d/);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /node=n03/.test(location.hash));
  await settled(page);
  assert.match(await page.locator("h1").textContent(), /node n03/);
  await page.locator("#nodes .tools button", { hasText: "table" }).click();
  assert.equal(await page.locator("#nodes .behind tbody tr").count(), 1);
  assert.deepEqual(faults, []);
  await done();
});

test("tab shows where it is", async () => {
  const { page, done } = await visit(PAGES.job);
  const seen = new Set();
  for (let step = 0; step < 90; step++) {
    await page.keyboard.press("Tab");
    const part = await page.evaluate(() => {
      const one = document.activeElement;
      if (one !== document.body && getComputedStyle(one).outlineStyle === "none") throw new Error(`no visible focus on ${one?.outerHTML.slice(0, 80)}`);
      return one?.closest("section, .masthead")?.id || one?.closest("section, .masthead")?.className || null;
    });
    if (part) seen.add(part);
  }
  for (const part of ["masthead", "panel findings", "by-library", "by-function", "nodes", "cores"]) assert.ok(seen.has(part), `${part}; seen: ${[...seen].join(", ")}`);
  await done();
});

test("a silent node is said and hatched; thousands of nodes are bands that open", async () => {
  const { page, faults, done } = await visit("#/machine?last=1h", { name: "large" });
  assert.match(await page.locator("#nodes .note").textContent(), /1,200 nodes, 10 to a row, 2 silent now/);
  assert.match(await page.locator(".findings").first().textContent(), /2 of 1200 nodes are silent: n0101, n0901/);
  const canvas = page.locator("#nodes canvas");
  const { x, y } = await canvas.boundingBox();
  await page.mouse.move(x + 400, y + 54 + 6 + 3 * 10 + 1);
  assert.match(await page.locator(".bubble").textContent(), /n0101 … n0110 \(10 nodes\)/);
  await page.mouse.click(x + 400, y + 54 + 6 + 3 * 10 + 1);
  await page.waitForFunction(() => /rows=100-109/.test(location.hash));
  await settled(page);
  assert.match(await page.locator("#nodes .note").textContent(), /^10 nodes, 1 silent now/);
  assert.deepEqual(faults, []);
  await done();
});

test("nodes whose batches were refused are said with the last reason", async () => {
  const { page, faults, done } = await visit("#/machine?last=1h", { name: "refused" });
  const said = await page.locator(".findings").first().textContent();
  assert.match(said, /Batches of .* and 1 other node were refused since the server started, at last: /);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  await page.goto(page.url().replace("last=1h", "last=1h&node=n01"));
  await settled(page);
  assert.match(await page.locator(".findings").first().textContent(), /Batches of n01 were refused since the server started, at last: 1000 samples of core 0\./);
  assert.deepEqual(faults, []);
  await done();
});

test("on paper tables are whole, without what one clicks", async () => {
  const { page, faults, done } = await visit("#/jobs?last=6h", { name: "many" });
  assert.equal(await page.locator("#jobs tbody tr").count(), 100);
  await page.pdf();
  assert.equal(await page.locator("#jobs tbody tr").count(), 130);
  await page.emulateMedia({ media: "print" });
  for (const part of [".masthead nav", ".search", ".tools >> nth=0", ".bar"]) assert.equal(await page.locator(part).isVisible(), false, part);
  assert.deepEqual(faults, []);
  await done();
});

test("a job page says what it lacks", async () => {
  const { page, faults, done } = await visit("#/job?id=4713_2");
  assert.match(await page.locator("#cores").textContent(), /busy 128 cores/, "from samples, where no counters were read");
  assert.match(await page.locator("#roofline").textContent(), /missing: flops and memory-bytes/);
  assert.match(await page.locator(".findings li").first().textContent(), /Two thirds of the cores.*OMP_NUM_THREADS/);
  await page.goto(`${sites.small.url}/#/job?id=4711`);
  await settled(page);
  assert.equal(await page.locator("#roofline circle").count(), 5);
  assert.equal(await page.locator(".spread").count(), 5);
  assert.deepEqual(faults, []);
  await done();
});

test("a job's figures are those of one owner where numbers come again", async () => {
  const { page, faults, done } = await visit("#/job?id=7", { name: "again" });
  assert.match(await page.locator("#by-library").textContent(), /one\.so/);
  assert.doesNotMatch(await page.locator("#by-library").textContent(), /two\.so/);
  await page.goto(`${sites.again.url}/#/job?id=7&user=1002`);
  await settled(page);
  assert.match(await page.locator("#by-library").textContent(), /two\.so/);
  assert.deepEqual(faults, []);
  await done();
});

test("nodes are chosen by a pattern, and rules are asked for what holds now", async () => {
  const { page, faults, done } = await visit("#/machine?last=6h&node=n0%3F");
  const title = () => page.locator(".title").textContent();
  assert.match(await title(), /9 nodes/);
  await page.goto(`${sites.small.url}/#/machine?last=6h`);
  await settled(page);
  assert.match(await title(), /24 nodes/);
  assert.match(await page.locator(".findings").first().textContent(), /finding of the rules now/);
  await page.goto(`${sites.small.url}/#/machine?last=6h&node=n1*`);
  await settled(page);
  assert.match(await title(), /10 nodes/);
  await page.goto(`${sites.small.url}/#/findings?last=6h`);
  await settled(page);
  assert.match(await title(), /findings now/);
  assert.equal(await page.locator(".ruled li .finding").count(), 1);
  assert.deepEqual(faults, []);
  await done();
});

test("a job's rules are asked of the chosen times, else of its own", async () => {
  const { page, faults, api, done } = await visit("#/job?id=4711");
  const job = await api("jobs/4711?last=90d");
  const whole = { from: String(job.first_ns / 1e9), to: String(job.last_ns / 1e9), job: "4711" };
  const [from, to] = [String(job.last_ns / 1e9 - 7200), String(job.last_ns / 1e9 - 3600)];
  for (const [more, expected] of [["", whole], ["&last=7d", whole], [`&from=${from}&to=${to}`, { from, to, job: "4711" }]]) {
    const [request] = await Promise.all([page.waitForRequest(/\/findings\?/), page.goto(`${sites.small.url}/#/job?id=4711&again=${more.length}${more}`)]);
    await settled(page);
    const asked = Object.fromEntries(new URL(request.url()).searchParams);
    assert.deepEqual(Object.keys(asked).sort(), ["from", "job", "to"], more);
    for (const key of ["from", "to"]) assert.ok(Math.abs(asked[key] - expected[key]) < 0.01, `${more}: ${key} is ${asked[key]}, expected ${expected[key]}`);
  }
  assert.deepEqual(faults, []);
  await done();
});

test("rates of more libraries and phases than are asked for are those of each alone", async () => {
  const { page, faults, api, done } = await visit("#/job?id=8", { name: "pairs" });
  for (const by of ["library", "phase"]) {
    const { rows } = await api(`rates?job=8&by=${by}`);
    await page.locator(`#rates-${by} button`, { hasText: "csv" }).waitFor();
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator(`#rates-${by} button`, { hasText: "csv" }).click()]);
    const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n").slice(1).map((line) => line.split(","));
    const shown = new Map(lines.map((line) => [line[0], line.slice(1, 3).map(Number)]));
    const keys = new Set(rows.map((row) => row[by]));
    assert.equal(shown.size, keys.size);
    for (const row of rows.filter((one) => one.counter === "cycles")) {
      const [seconds, rate] = shown.get(row[by]);
      assert.ok(Math.abs(seconds / row.seconds - 1) < 1e-6 && Math.abs(rate / row.rate - 1) < 1e-6, `${row[by]}: ${seconds} s, ${rate}/s`);
    }
  }
  assert.deepEqual(faults, []);
  await done();
});

test("a selection of one node or some asks for functions of as long as these allow, and nothing else waits for their number", async () => {
  const library = encodeURIComponent("/lib/x86_64-linux-gnu/libm.so.6");
  const { page, faults, done } = await visit("#/jobs?last=6h");
  for (const [node, last] of [["n03", "21600s"], ["n0%3F", "2400s"], ["", "600s"]]) {
    const [request] = await Promise.all([page.waitForRequest(/by=function/), page.goto(`${sites.small.url}/#/of?last=7d&library=${library}${node && `&node=${node}`}`)]);
    assert.equal(new URL(request.url()).searchParams.get("last"), last, node);
    await settled(page);
  }
  let told;
  await page.route("**/api/v1/nodes", (route) => { told = () => route.continue(); });
  const others = ["by=user", "by=phase|by=executable", "by=activity"].map((by) => page.waitForRequest(new RegExp(by), { timeout: 5000 }));
  const nodes = page.waitForRequest(/v1\/nodes/);
  await page.goto(`${sites.small.url}/#/of?last=24h&library=${library}`);
  await Promise.all([nodes, ...others]);
  await page.waitForFunction(() => document.querySelectorAll("#by-user tbody tr").length > 0);
  told();
  await settled(page);
  assert.deepEqual(faults, []);
  await done();
});

test("an address with a time that is none shows no figures", async () => {
  const { page, faults, done } = await visit("#/machine?last=banana&node=n03");
  assert.match(await page.locator("main .wrong").textContent(), /^last=banana is no time: expected such as 15m/);
  assert.equal(await page.locator("main .panel").count(), 0);
  await page.locator("main .wrong a").click();
  await page.waitForSelector("#nodes canvas");
  await settled(page);
  assert.match(page.url(), /#\/machine\?node=n03$/);
  assert.equal(await page.locator("main .wrong").count(), 0);
  await page.goto(page.url().replace(/#.*/, "#/machine?from=2026-01-02T00:00:00Z"));
  await settled(page);
  assert.match(await page.locator("main .wrong").textContent(), /^from stands alone/);
  assert.deepEqual(faults, []);
  await done();
});

test("what is not there is said, once and why", async () => {
  const { page, faults, done } = await visit("#/software?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z");
  assert.match(await page.locator("#software .empty").textContent(), /Nothing was observed in this time/);
  assert.equal(await page.locator("#software .tools button", { hasText: "csv" }).isVisible(), false);
  // Rounded times are no reason.
  await page.route("**/api/v1/usage?**", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...await response.json(), gaps: [{ kind: "estimated", detail: "times are kept in slices: the answer is of 2026-01-01T00:00:00Z to 2026-01-01T01:00:00.25Z", count: 0 }] } });
  });
  await page.goto(`${sites.small.url}/#/of?last=6h&library=nothing`);
  await settled(page);
  assert.match(await page.locator(".gaps").first().textContent(), /times are kept in slices: the answer is of 1 Jan \d\d:\d\d\u2013\d\d:\d\d/);
  for (const panel of await page.locator(".panel.breakdown .empty").allTextContents()) assert.doesNotMatch(panel, /slices/);
  assert.equal(await page.locator("#nodes canvas").isVisible(), false);
  assert.match(await page.locator("#nodes").textContent(), /Nothing was observed in this time/);
  assert.deepEqual(faults, []);
  await done();
});

test("functions that a job has most time in are of files", async () => {
  const { page, faults, done } = await visit("#/job?id=4713_2");
  const said = await page.locator(".findings").first().textContent();
  assert.match(said, /of functions in/);
  assert.doesNotMatch(said, /\(no file\)/);
  assert.deepEqual(faults, []);
  await done();
});

test("nothing is cut at the sides of a narrow page", async () => {
  // Paths are as long as they are: their table scrolls.
  for (const hash of Object.values(PAGES).filter((one) => one !== PAGES.files)) {
    const { page, done } = await visit(hash, { width: 800 });
    const cut = await page.evaluate(() => [...document.querySelectorAll(".panel > header .note, .masthead button, #software td:nth-child(6)")].filter((one) => {
      const box = one.getBoundingClientRect();
      return one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow !== "visible" || box.right > innerWidth - 18;
    }).map((one) => one.textContent));
    assert.deepEqual(cut, [], hash);
    await done();
  }
});

test("a job's page asks what `cargo xtask bench serve` asks, in its order", async () => {
  const { page, faults, api, done } = await visit("#/jobs?last=1h", { name: "month" });
  const { first_ns, last_ns } = await api("jobs/4711?last=90d");
  const asked = [];
  page.on("request", (request) => { if (/\/api\/v1\/(?!me$)/.test(request.url())) asked.push(decodeURIComponent(request.url().split("/api/v1/")[1])); });
  await page.goto(`${sites.month.url}/#/job?id=4711`);
  await settled(page);
  const filled = { from: first_ns / 1e9, to: last_ns / 1e9, late: (last_ns / 1e9 - 5400).toFixed(6), user: 1001 };
  const lines = readFileSync(new URL("../../xtask/src/bench/serve/job-page.txt", import.meta.url), "utf8").trim().split("\n");
  assert.deepEqual(asked, lines.map((line) => line.replace(/^[^:]*: /, "").replace(/\{(\w+)\}/g, (_, key) => filled[key])));
  assert.deepEqual(faults, []);
  await done();
});
