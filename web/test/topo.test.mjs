// The page of a node's objects in a browser: it colours, replays, compares, remembers, and stays quiet.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { samples } from "./examples.mjs";

// Named before pages.mjs is read, which else would write the report's samples.
const folder = process.env.TALEA_TOPO_SAMPLES || samples("topo_samples");
process.env.TALEA_SAMPLES = folder;
const { close, open, report } = await import("./pages.mjs");

before(open);
after(close);

const show = (name, options = {}) => report(name, { ready: ".stage", ...options });
const cell = (page, number) => page.locator(`#o-PU-${number}`);

for (const name of ["small", "large", "large-two"]) {
  for (const width of [1280, 1920]) {
    test(`${name} at ${width}: no errors, no requests, no sideways scrolling`, async () => {
      const { page, faults, done } = await show(name, { width, dark: width === 1920 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
      assert.deepEqual(faults, []);
      await done();
    });
  }
}

test("the address says time and monitor", async () => {
  const { page, faults, done } = await show("large", { hash: "#t=15&monitor=busy" });
  assert.match(await page.locator(".clock").textContent(), /^15\.000 s of 30\.000 s/);
  assert.match(await cell(page, 0).getAttribute("class"), /\bq\d+\b/);
  assert.match(await cell(page, 7).getAttribute("class"), /\bna\b/, "what is absent is hatched");
  assert.match(await page.locator(".monitor.active").textContent(), /1 absent at this time/);
  assert.deepEqual(faults, []);
  await done();
});

test("a page begins with the means of everything, and says so until a time is chosen", async () => {
  const { page, faults, done } = await show("small");
  assert.match(await page.locator(".facts").textContent(), /mean of \d+ values in 30\.0 s/);
  assert.match(await page.locator(".clock").textContent(), /^mean of 30\.000 s/);
  const mean = await cell(page, 0).locator(".v").textContent();
  assert.match(await page.locator(".monitor.active .figures").textContent(), /mean/);
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator(".facts").textContent(), /value 2 of \d+ values in 30\.0 s/);
  assert.doesNotMatch(await page.locator(".facts").textContent(), /mean of/);
  assert.notEqual(await cell(page, 0).locator(".v").textContent(), mean);
  assert.deepEqual(faults, []);
  await done();
});

test("of many gaps a few stand above the picture, and the others open", async () => {
  const { page, faults, done } = await show("small-run-long", { hash: "#t=15" });
  assert.equal(await page.locator(".gaps > ul > li").count(), 2);
  assert.equal(await page.locator(".gaps details li").first().isVisible(), false);
  await page.locator(".gaps summary", { hasText: "3 more gaps" }).click();
  assert.equal(await page.locator(".gaps details li:visible").count(), 3);
  assert.deepEqual(faults, []);
  await done();
});

test("keys move time, and the address follows", async () => {
  const { page, faults, done } = await show("small", { hash: "#t=5&monitor=busy" });
  const before = await cell(page, 0).locator(".v").textContent();
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator(".clock").textContent(), /^5\.100 s/);
  await page.keyboard.press("End");
  assert.match(await page.locator(".clock").textContent(), /^30\.000 s/);
  assert.notEqual(await cell(page, 0).locator(".v").textContent(), before);
  await page.waitForFunction(() => location.hash.includes("t=30.000"));
  await page.keyboard.press("Home");
  await page.keyboard.press("Space");
  assert.equal(await page.locator(".axis button", { hasText: "pause" }).count(), 1);
  await page.waitForFunction(() => Number.parseFloat(document.querySelector(".clock").textContent) > 0.1);
  await page.keyboard.press("Space");
  assert.deepEqual(faults, []);
  await done();
});

test("two recordings can be compared", async () => {
  const { page, faults, done } = await show("large-two", { hash: "#t=15&monitor=busy&show=difference" });
  assert.match(await cell(page, 0).getAttribute("class"), /\bd\d+\b/);
  await page.locator("select[data-key=show]").selectOption("second");
  assert.match(await page.locator("h1").textContent(), /-sf omp/);
  assert.match(await cell(page, 0).getAttribute("class"), /\bq\d+\b/);
  assert.deepEqual(faults, []);
  await done();
});

test("a finding leads to its time and object", async () => {
  const { page, faults, done } = await show("large");
  const finding = page.locator(".hints button", { hasText: "memory traffic" });
  await finding.click();
  assert.doesNotMatch(await page.locator(".clock").textContent(), /^0\.000/);
  assert.equal(await page.locator("rect.outline").getAttribute("visibility"), "visible");
  assert.deepEqual(faults, []);
  await done();
});

test("a run's phases are named at the frame, under the pointer and in a table", async () => {
  const { page, faults, done } = await show("small-run", { hash: "#t=2.5" });
  assert.equal(await page.locator(".axis .part").textContent(), "set-up");
  await page.keyboard.press("End");
  assert.equal(await page.locator(".axis .part").textContent(), "");
  const canvas = page.locator(".axis canvas");
  const { x, y, width } = await canvas.boundingBox();
  // The middle of the recording, in the band of iterations.
  await page.mouse.move(x + 74 + (width - 86) / 2, y + 160);
  assert.match(await page.locator(".bubble").textContent(), /^halo\.c:285-299 iteration \d+\d+ ms/);
  await page.mouse.move(x + 74 + (width - 86) / 2, y + 20);
  assert.equal(await page.locator(".bubble").isVisible(), false);
  await page.locator(".panel.phases button", { hasText: "csv" }).waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator(".panel.phases button", { hasText: "csv" }).click()]);
  const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n");
  assert.equal(lines.length, 1 + 1 + 120 + 1);
  assert.equal(lines.slice(1).filter((line) => line.endsWith(",slow")).length, 1);
  assert.deepEqual(faults, []);
  await done();
});

test("a million iterations stay a small page that says so", async () => {
  const [one, many] = ["small", "small-run-long"].map((name) => readFileSync(join(folder, `${name}.html`)).length);
  assert.ok(many - one < 100_000, `${many - one} bytes for the iterations`);
  const { page, faults, done } = await show("small-run-long", { hash: "#t=15" });
  assert.match(await page.locator(".panel.phases .note").textContent(), /an iteration takes .* \(median of 1,000,000.*\), shown in runs of up to 625, the slowest single/);
  assert.match(await page.locator(".axis .part").textContent(), /^halo\.c:285-299 iterations \d+-\d+$/);
  assert.deepEqual(faults, []);
  await done();
});

test("devices that share a mark are shown one by one", async () => {
  const { page, faults, done } = await show("small", { hash: "#t=15&monitor=written" });
  const mark = page.locator("[data-folded]");
  assert.equal(await page.locator(".unfolded svg").count(), 0);
  assert.equal(await mark.locator(".v").textContent(), "", "no value is that of all");
  await mark.click();
  assert.equal(await page.locator(".unfolded svg").count(), 6);
  assert.equal(await mark.getAttribute("aria-expanded"), "true");
  assert.match(await page.locator(".unfolded g.o").first().getAttribute("class"), /\bq\d+\b/);
  assert.match(await page.locator(".unfolded .v").first().textContent(), /B\/s$/);
  await page.waitForFunction(() => location.hash.includes("open="));
  const before = await page.locator(".clock").textContent();
  await mark.focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".unfolded svg").count(), 0);
  await page.keyboard.press("Space");
  assert.equal(await page.locator(".unfolded svg").count(), 6);
  assert.equal(await page.locator(".clock").textContent(), before, "time stands still");
  // The first device has the mark's number.
  for (const cell of [2, 0]) {
    await page.locator(".unfolded g.o").nth(cell).click();
    assert.match(await page.locator(".unfolded g.o").nth(cell).getAttribute("class"), /\bpicked\b/);
  }
  assert.deepEqual(faults, []);
  await done();
});

test("values are a table and a file", async () => {
  const { page, faults, done } = await show("small", { hash: "#t=15&monitor=busy" });
  await page.locator(".panel.values button", { hasText: "table" }).click();
  assert.equal(await page.locator(".panel.values tbody tr").count(), 8);
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator(".panel.values button", { hasText: "csv" }).click()]);
  const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n");
  assert.equal(lines.length, 9);
  assert.match(lines[0], /^object,monitor,value/);
  assert.deepEqual(faults, []);
  await done();
});

test("an address that names nothing shows the beginning", async () => {
  const { page, faults, done } = await show("small", { hash: "#t=x&monitor=__proto__&with=nothing&object=99999&open=99999&open=x&show=second&scale=7" });
  assert.match(await page.locator(".clock").textContent(), /^0\.000/);
  assert.deepEqual(faults, []);
  await done();
});
