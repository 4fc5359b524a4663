// The report in a browser: it filters, remembers, listens to keys, and stays quiet whatever its data hold.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { close, open, report } from "./pages.mjs";

before(open);
after(close);

const loop = (page, label) => page.locator('.row.loop', { hasText: label });
const note = (page, panel) => page.locator(`#${panel} .note`).textContent();

for (const name of ["halo", "large", "broken", "empty", "nothing", "hostile", "networked"]) {
  for (const width of [1280, 1920]) {
    test(`${name} at ${width}: no errors, no requests, no sideways scrolling`, async () => {
      const { page, faults, done } = await report(name, { width, dark: width === 1920 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
      assert.deepEqual(faults, []);
      await done();
    });
  }
}

test("the network is a panel where there is one", async () => {
  const without = await report("halo");
  assert.equal(await without.page.locator("#network").isVisible(), false);
  await without.done();
  const { page, faults, done } = await report("networked");
  const panel = page.locator("#network");
  assert.match(await panel.locator(".says").textContent(), /links along Y/);
  const before = await page.evaluate(() => location.hash);
  await panel.locator(".network-key .ends input").nth(0).fill("1,0,5");
  await panel.locator(".network-key .ends input").nth(0).press("Tab");
  await panel.locator(".network-key .ends input").nth(1).fill("1,0,7");
  await panel.locator(".network-key .ends input").nth(1).press("Tab");
  await panel.locator(".says-of-ways").waitFor();
  assert.match(await panel.locator(".says-of-ways").textContent(), /^2 links from /);
  assert.equal(await page.evaluate(() => location.hash), before, "the address is the report's");
  await panel.locator(".network-key .views button", { hasText: "beside" }).click();
  await panel.locator(".view").nth(1).waitFor();
  assert.deepEqual(faults, []);
  await done();
});

test("choosing a loop filters every view", async () => {
  const { page, faults, done } = await report("halo");
  assert.equal(await page.locator("#sites tbody tr.faded").count(), 0);
  await loop(page, "cg.c:40").click();
  assert.equal(await page.locator("#sites tbody tr:not(.faded)").count(), 2);
  assert.match(await note(page, "sites"), /2 of 17/);
  assert.equal(await page.locator("#graph rect.loop.chosen").count(), 1);
  assert.equal(await page.locator("#graph .node:not(.faded)").count(), 2);
  assert.match(await page.locator(".crumbs").textContent(), /loop halo\.c:120 ×60.*loop cg\.c:40 ×6/);
  await loop(page, "cg.c:40").click();
  assert.equal(await page.locator("#sites tbody tr.faded").count(), 0, "the same choice again takes it back");
  assert.deepEqual(faults, []);
  await done();
});

test("the selection survives a reload, and Back undoes it", async () => {
  const { page, done } = await report("halo");
  await loop(page, "halo.c:120").click();
  await page.locator(".cell", { hasText: "3" }).click();
  assert.match(page.url(), /#node=\d+&rank=3$/);
  const before = await page.locator(".crumbs").textContent();
  await page.reload();
  await page.waitForSelector(".crumbs");
  assert.equal(await page.locator(".crumbs").textContent(), before);
  assert.equal(await page.locator(".row.chosen").count(), 1);
  await page.goBack();
  assert.equal(await page.locator(".cell.chosen").count(), 0);
  await done();
});

test("an address that names nothing shows the whole run", async () => {
  const { page, faults, done } = await report("halo", { hash: "#node=99999&class=7&rank=-1&iteration=x&rank=__proto__" });
  assert.equal(await page.locator(".crumbs.filtered").count(), 0);
  assert.deepEqual(faults, []);
  await done();
});

test("finding in the structure shows matches and what is around them", async () => {
  const { page, faults, done } = await report("halo");
  await page.keyboard.press("/");
  await page.keyboard.type("sendrecv");
  assert.deepEqual(await page.locator(".tree .row .label").evaluateAll((all) => all.map((one) => one.textContent.trim().split(/\s+/).slice(0, 2).join(" "))),
    ["run", "loop halo.c:120", "loop cg.c:40", "MPI_Sendrecv smooth"]);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  assert.match(page.url(), /node=/);
  await page.locator(".asidehead input").fill("");
  assert.ok((await page.locator(".tree .row").count()) > 15);
  assert.deepEqual(faults, []);
  await done();
});

test("a timeline of the whole run", async () => {
  const { page, faults, done } = await report("halo");
  await page.locator("#timeline .tools button", { hasText: "whole run" }).click();
  assert.equal(await page.locator("#timeline h2").textContent(), "the whole run");
  assert.deepEqual(faults, []);
  await done();
});

test("findings show their evidence", async () => {
  const { page, done } = await report("halo");
  await page.locator(".findings li button", { hasText: "MPI_Waitall" }).click();
  assert.match(await page.locator("#sites tr.chosen").textContent(), /MPI_Waitall/);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#sites tr.chosen").count(), 0);
  await page.locator(".findings li button", { hasText: "step" }).nth(1).click();
  assert.match(page.url(), /iteration=37/);
  assert.equal(await page.locator("#iterations line.chosen").count(), 1);
  await done();
});

test("classes of ranks fold and unfold", async () => {
  const { page, faults, done } = await report("large");
  const rows = () => page.locator("#ranks tbody tr").count();
  assert.ok((await rows()) < 12);
  const tall = () => page.locator("#timeline .rows canvas").evaluate((canvas) => canvas.clientHeight);
  const folded = await tall();
  await page.locator("#timeline .tools button", { hasText: "unfold" }).click();
  assert.ok((await tall()) > folded * 5);
  await page.locator(".class", { hasText: "class C" }).click();
  assert.match(await note(page, "graph"), /class C/);
  assert.equal(await page.locator('.row', { hasText: "MPI_File_write_at_all" }).count(), 1, "only class C writes");
  assert.deepEqual(faults, []);
  await done();
});

test("keys alone reach and choose things", async () => {
  const { page, faults, done } = await report("halo");
  await page.locator('.tree [tabindex="0"]').focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowLeft", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  assert.match(await page.locator(".crumbs").textContent(), /halo\.c:120/);
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("role"));
  assert.equal(await focused(), "treeitem", "the focus stays where it was");
  await page.keyboard.press("Escape");

  await page.locator("#timeline .rows canvas").focus();
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "+", "-", "0", "Enter"]) await page.keyboard.press(key);
  assert.match(page.url(), /node=/);

  await page.locator('#graph .node[tabindex="0"]').focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#graph .node .dot").count(), 4, "the chain of four calls is open");

  await page.locator("#sites tbody tr").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#sites tr.chosen").count(), 1);
  await page.locator("#matrix canvas").focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator(".bubble").textContent(), /0 → 1.*MB/);
  await page.locator("#iterations svg").focus();
  await page.keyboard.press("End");
  assert.match(await page.locator(".bubble").textContent(), /iteration 59/);
  assert.deepEqual(faults, []);
  await done();
});

test("tab reaches every part, and what has the focus can be seen", async () => {
  const { page, done } = await report("halo");
  const seen = new Set();
  for (let step = 0; step < 70; step++) {
    await page.keyboard.press("Tab");
    const part = await page.evaluate(() => {
      const one = document.activeElement;
      const box = one?.querySelector(":scope > .box") ?? one;
      const style = box && getComputedStyle(box);
      if (one !== document.body && style?.outlineStyle === "none" && style?.strokeWidth !== "3px") throw new Error(`no visible focus on ${one?.outerHTML.slice(0, 80)}`);
      return one?.closest("section, .tree, .classes, header")?.className?.split(" ").pop() ?? null;
    });
    if (part) seen.add(part);
  }
  for (const part of ["top", "tree", "classes", "findings", "timeline", "iterations", "graph", "matrix", "sites", "ranks"]) {
    assert.ok(seen.has(part), `${part} is reached; seen: ${[...seen].join(" ")}`);
  }
  await done();
});

test("tables sort, and every plot has one behind it", async () => {
  const { page, done } = await report("halo");
  const first = () => page.locator("#sites tbody tr td").first().textContent();
  assert.match(await first(), /MPI_Waitall/);
  await page.locator("#sites th button", { hasText: "count" }).click();
  assert.match(await first(), /MPI_Allreduce|MPI_Sendrecv/);
  for (const panel of ["timeline", "iterations", "graph", "matrix"]) {
    await page.locator(`#${panel} .tools button`, { hasText: /^table$/ }).click();
    assert.ok((await page.locator(`#${panel} .behind tbody tr`).count()) > 3, panel);
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator(`#${panel} .tools button`, { hasText: /^csv$/ }).click()]);
    const text = readFileSync(await file.path(), "utf8");
    assert.ok(text.split("\r\n").length > 4, panel);
  }
  await done();
});

test("call sites are summed by line, by routine and not at all", async () => {
  const { page, done } = await report("halo");
  const by = (what) => page.locator("#sites .tools button", { hasText: `by ${what}` });
  const rows = () => page.locator("#sites tbody tr").count();
  assert.equal(await by("line").getAttribute("aria-pressed"), "true");
  const lines = await rows();
  await by("routine").click();
  assert.ok((await rows()) < lines, "fewer routines than lines");
  assert.match(await page.locator("#sites .note").textContent(), /^\d+ routines of \d+ call paths$/);
  assert.match(await page.locator("#sites .paths").first().textContent(), /^\d+ paths$/);
  await by("path").click();
  assert.ok((await rows()) >= lines);
  assert.equal(await page.locator("#sites .paths").count(), 0);
  await done();
});

test("many messages are shades, few are lines", async () => {
  const { page, done } = await report("halo");
  const shades = page.locator("#timeline .legend .scale");
  assert.equal(await shades.isVisible(), false);
  await page.locator("#timeline .tools button", { hasText: "whole run" }).click();
  assert.equal(await shades.isVisible(), true);
  assert.match(await shades.textContent(), /^messages: 1\d[\d,\u2009]* in .*s; zoom in for lines$/);
  for (let step = 0; step < 12; step++) await page.locator("#timeline .tools button", { hasText: /^\+$/ }).click();
  assert.equal(await shades.isVisible(), false);
  await done();
});

test("hostile text is shown as text", async () => {
  const { page, faults, done } = await report("hostile");
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator("#app img, #app script").count(), 0);
  assert.match(await page.locator("h1").textContent(), /<\/script><img src=x/);
  const longest = await page.evaluate(() => {
    const walker = document.createTreeWalker(document.getElementById("app"), NodeFilter.SHOW_TEXT);
    let most = 0;
    let turned = 0;
    while (walker.nextNode()) {
      most = Math.max(most, walker.currentNode.data.length);
      turned += /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u.test(walker.currentNode.data);
    }
    return { most, turned };
  });
  assert.ok(longest.most < 1000, `a text of ${longest.most} characters`);
  assert.equal(longest.turned, 0, "no marks that turn the direction of writing");
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#timeline .tools button", { hasText: /^csv$/ }).click()]);
  assert.match(readFileSync(await file.path(), "utf8"), /"<\/script><img src=x onerror=""window/);
  assert.deepEqual(faults, []);
  await done();
});

test("the theme can be turned, and stays", async () => {
  const { page, done } = await report("halo", { dark: true });
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  assert.equal(await ground(), "rgb(20, 24, 29)");
  await page.locator(".top .tools button", { hasText: "light/dark" }).click();
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await page.reload();
  await page.waitForSelector(".crumbs");
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await done();
});

test("a killed rank is seen at once", async () => {
  const { page, done } = await report("broken");
  assert.match(await page.locator(".gaps").textContent(), /rank 2 ended by signal 9/);
  assert.match(await page.locator(".findings li").first().textContent(), /signal 9/);
  assert.match(await page.locator(".top .bad").textContent(), /signal 9/);
  assert.match(await note(page, "ranks"), /did not end as they should/);
  await done();
});

test("many gaps do not push the findings away, and are there", async () => {
  const { page, faults, done } = await report("crowded");
  const seen = () => page.locator(".gaps li").evaluateAll((all) => all.filter((one) => one.checkVisibility()).length);
  assert.equal(await seen(), 3);
  assert.equal(await page.locator(".gaps summary").textContent(), "and 37 more: ended early");
  await page.locator(".gaps summary").focus();
  await page.keyboard.press("Enter");
  assert.equal(await seen(), 40);
  assert.deepEqual(faults, []);
  await done();
});

test("what happens inside an iteration follows the chosen loop", async () => {
  const { page, faults, done } = await report("halo");
  assert.match(await note(page, "inside"), /halo\.c:120 · 37 of 40 executions/);
  assert.equal(await page.locator("#inside .picture svg").count(), 1);
  assert.match(await page.locator("#inside tbody tr").first().textContent(), /instructions.*2.48 k.*1\.2 %/);
  assert.match(await page.locator("#inside tbody tr").nth(1).textContent(), /L1 misses.*-$/);
  await loop(page, "cg.c:40").click();
  assert.match(await note(page, "inside"), /cg\.c:40/);
  await page.locator("#inside .choices button", { hasText: "halo.c:120" }).click();
  assert.match(await note(page, "inside"), /halo\.c:120/);
  assert.deepEqual(faults, []);
  await done();
});

test("ranks stand where they ran", async () => {
  const { page, faults, done } = await report("large");
  assert.equal(await page.locator("#hosts .machine svg").count(), 1, "the first host is drawn");
  assert.match(await page.locator("#hosts .odd").first().textContent(), /ranks 0-1 share PU 3/);
  await page.locator("#hosts tbody tr", { hasText: "Core 5" }).first().click();
  assert.match(page.url(), /rank=5$/);
  assert.deepEqual(faults, []);
  await done();
});

test("bars of loops have the colours of their calls", async () => {
  const { page, faults, done } = await report("halo");
  const bars = await page.locator(".tree .row.loop").evaluateAll((rows) => rows.map((row) =>
    [...row.querySelectorAll(".share i")].map((part) => [part.className, Number.parseFloat(part.style.width)])));
  assert.ok(bars.length > 1);
  for (const parts of bars) {
    const classes = parts.map(([kind]) => kind);
    assert.ok(classes.includes("computation") && classes.some((one) => ["waiting", "transfer", "collective"].includes(one)), classes.join());
    assert.equal(new Set(classes).size, classes.length);
    const rest = parts.filter(([kind]) => kind === "mpi").reduce((sum, [, wide]) => sum + wide, 0);
    assert.ok(rest < 1, `${rest} % of MPI without a call`);
    assert.ok(parts.reduce((sum, [, wide]) => sum + wide, 0) <= 100.01);
  }
  assert.deepEqual(faults, []);
  await done();
});

test("labels of slow iterations do not lie on one another", async () => {
  // Equally slow, at distances at which long names of threads meet.
  const alter = () => {
    const parse = JSON.parse;
    JSON.parse = (text) => {
      const payload = parse(text);
      for (const series of payload.report?.iterations ?? []) {
        const slowest = Math.max(...series.max);
        series.outliers = [1, 24, 45].map((iteration) => ({ iteration, rank: 123456, thread: 12, duration: slowest }));
      }
      return payload;
    };
  };
  for (const width of [700, 1280, 1920]) {
    const { page, done } = await report("halo", { width, alter });
    const boxes = await page.locator("#iterations text.outlier").evaluateAll((all) => all.map((one) => {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      return { left, right, top, bottom, text: one.textContent };
    }));
    assert.ok(boxes.length > 0 && boxes[0].text.includes("123456"));
    for (const [at, a] of boxes.entries()) {
      for (const b of boxes.slice(at + 1)) {
        const meet = a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
        assert.ok(!meet, `${width}: ${a.text} on ${b.text}`);
      }
    }
    await done();
  }
});
