// One selection for all views: what was chosen last is what is shown, and nothing stays of what was chosen before.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { close, open, report } from "./pages.mjs";

before(open);
after(close);

const finding = (page, text) => page.locator(".findings li button", { hasText: text });
const tree = (page, text) => page.locator(".tree .row", { hasText: text }).first();
const crumbs = (page) => page.locator(".crumbs").textContent();
const title = (page) => page.locator("#timeline h2").textContent();
const note = (page, panel) => page.locator(`#${panel} .note`).textContent();
const chosenRank = (page) => page.locator(".cell.chosen").count();

/** The part of the run that the timeline shows, in milliseconds. */
async function shown(page) {
  const label = await page.locator("#timeline .rows canvas").getAttribute("aria-label");
  const words = /from ([\d.]+) (\S*s) to ([\d.]+) (\S*s);/.exec(label);
  assert.ok(words, label);
  const factor = { s: 1000, ms: 1, "\u00b5s": 0.001, ns: 1e-6 };
  return [Number(words[1]) * factor[words[2]], Number(words[3]) * factor[words[4]]];
}

/** Whether the axis has the bar of a chosen iteration. */
const marked = (page) => page.locator("#timeline canvas.axis").evaluate((canvas) => {
  const { width, height } = canvas;
  const pen = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d", { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const accent = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  const wanted = [1, 3, 5].map((at) => parseInt(accent.slice(at, at + 2), 16));
  const pixels = pen.getImageData(0, height - 2, width, 1).data;
  let found = 0;
  for (let at = 0; at < width; at++) found += wanted.every((value, channel) => pixels[at * 4 + channel] === value);
  return found > 10;
});

test("a slow iteration of a finding is what the timeline shows", async () => {
  const { page, faults, done } = await report("halo");
  const [from, to] = await shown(page);
  assert.equal(await marked(page), false);
  await finding(page, "step 37").click();
  assert.match(page.url(), /iteration=37/);
  assert.equal(await title(page), "iteration 37");
  assert.match(await note(page, "timeline"), /^of halo\.c:120/);
  const [begin, end] = await shown(page);
  assert.ok(begin > to && end - begin < 100, `${begin} to ${end} ms is iteration 37, ${from} to ${to} was iteration 20`);
  assert.equal(await marked(page), true);
  assert.equal(await page.locator("#iterations line.chosen").count(), 1);
  assert.match(await page.locator("#iterations path.shown title").textContent(), /^iteration 37 /);
  await page.keyboard.press("Escape");
  assert.equal(await title(page), "iteration 20");
  assert.deepEqual(await shown(page), [from, to]);
  assert.equal(await marked(page), false);
  assert.deepEqual(faults, []);
  await done();
});

test("of a large run the slow iterations were kept, others say that they were not", async () => {
  const { page, faults, done } = await report("large", { hash: "#iteration=37" });
  assert.equal(await title(page), "iteration 37");
  assert.match(await note(page, "timeline"), /63\.1 ms on rank 2, the median is 30\.1 ms/);
  assert.equal(await marked(page), true);
  await page.locator("#iterations svg").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  assert.match(page.url(), /iteration=38/);
  assert.equal(await title(page), "iteration 20");
  assert.match(await note(page, "timeline"), /^iteration 38 was not kept in detail/);
  assert.equal(await marked(page), false);
  assert.deepEqual(faults, []);
  await done();
});

test("in the plot a slow iteration is met from nearby, and by a key", async () => {
  const { page, done } = await report("halo");
  const mark = page.locator("#iterations circle.outlier, #iterations path.above").first();
  const box = await mark.boundingBox();
  await page.mouse.click(box.x + box.width / 2 + 5, box.y + box.height / 2);
  assert.match(page.url(), /iteration=37/);
  assert.equal(await title(page), "iteration 37");
  await page.mouse.click(box.x + box.width / 2 - 4, box.y + box.height / 2);
  assert.doesNotMatch(page.url(), /iteration/, "the same choice again takes it back");
  assert.equal(await title(page), "iteration 20");
  await page.locator("#iterations svg").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.match(page.url(), /iteration=37/);
  assert.equal(await title(page), "iteration 37");
  await done();
});

test("each finding shows its evidence alone", async () => {
  const { page, faults, done } = await report("halo");
  const pressed = () => page.locator('.findings li button[aria-pressed="true"]').allTextContents();
  await finding(page, "Rank 3 computes").click();
  assert.equal(await chosenRank(page), 1);
  await finding(page, "step 37").click();
  assert.equal(await chosenRank(page), 0, "the rank of the finding before is gone");
  assert.equal((await pressed()).length, 1);
  await finding(page, "MPI_Waitall").click();
  assert.doesNotMatch(page.url(), /iteration|rank/);
  assert.equal(await title(page), "iteration 20");
  assert.match((await pressed()).join(), /MPI_Waitall/);
  await finding(page, "only to its neighbours").click();
  assert.doesNotMatch(page.url(), /#/);
  assert.deepEqual(await pressed(), []);
  // By keys, too, and from a timeline that somebody zoomed.
  const whole = await shown(page);
  await page.locator("#timeline .tools button", { hasText: "whole run" }).click();
  await page.locator("#timeline .rows canvas").focus();
  await page.keyboard.press("+");
  await finding(page, "Rank 3 computes").focus();
  await page.keyboard.press("Enter");
  assert.deepEqual(await shown(page), whole);
  assert.deepEqual(faults, []);
  await done();
});

test("an iteration goes with the loop that it belongs to", async () => {
  const { page, done } = await report("halo", { hash: "#iteration=37" });
  await tree(page, "cg.c:40").click();
  assert.match(page.url(), /iteration=37/, "a loop inside the main loop has its iterations");
  await tree(page, "MPI_Bcast").click();
  assert.match(page.url(), /node=/);
  assert.doesNotMatch(page.url(), /iteration/, "a call outside has none");
  assert.equal(await title(page), "iteration 20");
  await done();
});

test("an iteration that the run does not have is none", async () => {
  const { page, faults, done } = await report("halo", { hash: "#iteration=4711" });
  assert.equal(await page.locator(".crumbs.filtered").count(), 0);
  assert.equal(await title(page), "iteration 20");
  assert.deepEqual(faults, []);
  await done();
});

test("Back returns to the iteration before", async () => {
  const { page, done } = await report("halo");
  await finding(page, "step 37").click();
  const window = await shown(page);
  await finding(page, "MPI_Waitall").click();
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("#timeline h2").textContent === "iteration 37");
  assert.deepEqual(await shown(page), window);
  await page.reload();
  await page.waitForFunction(() => document.querySelector("#timeline h2")?.textContent === "iteration 37");
  await page.waitForFunction(() => document.querySelector("#timeline .rows canvas").getAttribute("aria-label"));
  assert.deepEqual(await shown(page), window, "the address keeps it");
  await done();
});

test("the whole run and a chosen iteration take turns", async () => {
  const { page, done } = await report("halo", { hash: "#iteration=37" });
  const one = await shown(page);
  const button = page.locator("#timeline .tools button", { hasText: "whole run" });
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "true");
  const [begin, end] = await shown(page);
  assert.ok(begin === 0 && end > 10 * (one[1] - one[0]));
  assert.equal(await marked(page), true, "it stays marked");
  await button.click();
  assert.deepEqual(await shown(page), one);
  await done();
});

test("a class and a rank that is not in it do not filter together", async () => {
  const { page, faults, done } = await report("large");
  const cls = (name) => page.locator(".class", { hasText: `class ${name}` });
  await cls("B").click();
  await page.locator(".cell").nth(5).click();
  assert.match(page.url(), /rank=5$/);
  assert.doesNotMatch(page.url(), /class/);
  await cls("B").click();
  assert.match(page.url(), /#class=1$/, "the class that was chosen last stays");
  assert.ok((await page.locator("#sites tbody tr:not(.faded)").count()) > 3);
  assert.deepEqual(faults, []);
  await done();
});

test("another class keeps what is chosen where it does the same", async () => {
  const { page, done } = await report("large");
  await tree(page, "cg.c:40").click();
  const node = /node=(\d+)/.exec(page.url())[1];
  // The name of the class's band in the timeline.
  const canvas = page.locator("#timeline .rows canvas");
  await canvas.click({ position: { x: 20, y: 30 + 62 } });
  assert.match(page.url(), /class=1/);
  assert.notEqual(/node=(\d+)/.exec(page.url())[1], node, "the node of the other class");
  assert.match(await crumbs(page), /cg\.c:40.*class B/);
  await page.locator(".crumbs .chip").click();
  assert.doesNotMatch(page.url(), /class/);
  await done();
});

test("a choice elsewhere is seen in a structure that was searched", async () => {
  const { page, done } = await report("halo");
  await page.locator(".asidehead input").fill("sendrecv");
  assert.equal(await page.locator(".tree .row", { hasText: "MPI_Waitall" }).count(), 0);
  await finding(page, "MPI_Waitall").click();
  assert.match(await page.locator(".tree .row.chosen").textContent(), /MPI_Waitall/);
  assert.equal(await page.locator(".asidehead input").inputValue(), "");
  await done();
});

test("a rank without calls empties the table of call sites for as long as it is chosen", async () => {
  const { page, faults, done } = await report("silent");
  const rows = await page.locator("#sites tbody tr").count();
  assert.ok(rows > 5);
  await page.locator(".cell").nth(3).click();
  assert.equal(await page.locator("#sites tbody tr").count(), 0);
  assert.match(await page.locator("#sites .empty").textContent(), /no MPI calls of the selection/);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#sites tbody tr").count(), rows);
  assert.deepEqual(faults, []);
  await done();
});

test("a row of several paths is taken back whichever of them is chosen", async () => {
  const { page, done } = await report("halo");
  await page.locator("#sites .tools button", { hasText: "by routine" }).click();
  const row = page.locator("#sites tbody tr", { hasText: "exchange" }).first();
  await tree(page, "MPI_Irecv").click();
  assert.match(await row.getAttribute("class"), /chosen/);
  await row.click();
  assert.doesNotMatch(page.url(), /node/);
  await done();
});

test("tabs are told apart, and choose their loop", async () => {
  const { page, faults, done } = await report("halo");
  const tabs = page.locator("#inside .choices button");
  const names = await tabs.allTextContents();
  assert.equal(new Set(names).size, names.length, names.join(", "));
  const pressed = () => page.locator('#inside .choices button[aria-pressed="true"]').textContent();
  assert.match(await pressed(), /halo\.c:120/, "the main loop is shown unasked");
  await tabs.filter({ hasText: "cg.c:40" }).click();
  assert.match(await crumbs(page), /loop cg\.c:40/);
  assert.match(await pressed(), /cg\.c:40/);
  // A choice that has nothing to do with loops leaves it; a phase has no loop, and goes when another part is chosen.
  await page.locator(".cell").nth(1).click();
  assert.match(await pressed(), /cg\.c:40/);
  await tabs.filter({ hasText: "Phase relax" }).click();
  assert.match(await pressed(), /Phase relax/);
  await page.locator(".cell").nth(2).click();
  assert.match(await pressed(), /Phase relax/);
  await tree(page, "halo.c:120").click();
  assert.match(await pressed(), /halo\.c:120/);
  await page.keyboard.press("Escape");
  assert.match(await pressed(), /halo\.c:120/);
  assert.deepEqual(faults, []);
  await done();
});

test("bubbles go with what they explained", async () => {
  const { page, done } = await report("halo");
  await page.locator("#iterations svg").focus();
  await page.keyboard.press("End");
  assert.equal(await page.locator(".bubble").isVisible(), true);
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".bubble").isVisible(), false);
  await done();
});

test("the cursor of the timeline stays in its row when others go", async () => {
  const { page, done } = await report("large");
  await page.locator("#timeline .tools button", { hasText: "unfold" }).click();
  const canvas = page.locator("#timeline .rows canvas");
  await canvas.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  const bubble = () => page.locator(".bubble").textContent();
  assert.match(await bubble(), /rank 1 /);
  // Class A is the inside of the grid: rank 0 goes.
  await page.evaluate(() => [...document.querySelectorAll(".class")].find((one) => one.textContent.includes("class A"))?.click());
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await bubble(), /rank 1 /);
  await done();
});
