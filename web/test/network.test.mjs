// The page of a network in a browser: views beside each other, ways as the library has them, slices, a torus that turns, tables, an address that keeps it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { samples } from "./examples.mjs";

// Named before pages.mjs is read, which else would write the report's samples.
const folder = process.env.TALEA_NETWORK_SAMPLES || samples("network_samples");
process.env.TALEA_SAMPLES = folder;
const { close, open, report } = await import("./pages.mjs");

before(open);
after(close);

const show = (name, options = {}) => report(name, { ready: ".network-tables .panel", ...options });

/** How many pixels of a canvas are not empty. */
const painted = (canvas) => canvas.evaluate((one) => {
  const { data } = one.getContext("2d").getImageData(0, 0, one.width, one.height);
  let count = 0;
  for (let at = 3; at < data.length; at += 4) if (data[at]) count++;
  return count;
});

const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

for (const name of ["gemini", "regions", "sonar", "dragonfly", "aries", "tree", "irregular", "empty", "absent", "hostile", "ring", "five-axes"]) {
  for (const width of [1280, 1920]) {
    test(`${name} at ${width}: drawn, no errors, no requests, no sideways scrolling`, async () => {
      const { page, faults, done } = await show(name, { width, dark: width === 1920 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
      assert.ok(await painted(page.locator(".view canvas").first()) > 300);
      assert.ok((await page.locator(".view .source").first().textContent()).length > 0, "where the numbers are from");
      assert.deepEqual(faults, []);
      await done();
    });
  }
}

for (const name of ["gemini-opened", "dragonfly", "tree", "irregular"]) {
  test(`${name} at 390: one below the other, nothing cut off`, async () => {
    const { page, faults, done } = await show(name, { width: 390, height: 844 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no sideways scrolling");
    const boxes = await Promise.all([".panel.histograms", ".panel.dimensions"].map((one) => page.locator(one).boundingBox()));
    assert.ok(boxes[0].y + boxes[0].height <= boxes[1].y, "histograms and tables do not lie over each other");
    const canvas = await page.locator(".view canvas").first().boundingBox();
    assert.ok(name === "gemini-opened" || canvas.width <= 350.5, `the picture is ${canvas.width} wide`);
    assert.deepEqual(faults, []);
    await done();
  });
}

test("what a picture does not show its legend does not explain", async () => {
  const { page, faults, done } = await show("gemini");
  assert.match(await page.locator(".legend-of-links").textContent(), /notch: stalled 10 %.*not known/);
  await page.evaluate(() => { location.hash = "solid=0.6,0.45"; });
  await frame(page);
  await frame(page);
  assert.doesNotMatch(await page.locator(".legend-of-links").textContent(), /notch|not known/);
  assert.deepEqual(faults, []);
  await done();
});

test("lines alike are coloured together", async () => {
  const made = await build({ entryPoints: [fileURLToPath(new URL("../src/network/cut.ts", import.meta.url))], bundle: true, write: false, format: "esm" });
  const { coloured, note } = await import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].contents).toString("base64")}`);
  const absent = NaN;
  // The same cases as in crates/show/report/src/network/cut.rs.
  for (const [sizes, most, expected] of [
    [[0, 1, absent], 3, "###"],
    [[1, 3, 2, 4], 2, ".#.#"],
    [[2, 1, 1, 1], 2, "#..."],
    [[1, 2, 1, 3, 1], 4, ".#.#."],
    [[1, 1, 1], 2, "###"],
    [[0.5, 1, 1, 1], 2, ".###"],
    [[0, 5, 0, 0], 3, ".#.."],
    [[0, 0, 0], 2, "..."],
    [[absent, 1, 2, 0], 2, "#.#."],
    [[absent, absent, absent, 1], 2, "...#"],
    [[absent, absent, 1, 1], 2, "####"],
  ]) assert.equal(coloured(sizes, most).map((lit) => (lit ? "#" : ".")).join(""), expected, `${sizes} at ${most}`);
  const says = (sizes) => note(sizes, coloured(sizes, 2));
  assert.equal(says([1, 0]), "");
  assert.equal(says([1, 0, 0]), "1 of 3 lines are coloured, the others have none");
  assert.equal(says([1, 2, 3]), "2 of 3 lines are coloured, those with most");
  assert.equal(says([absent, absent, absent, 1]), "1 of 4 lines are coloured, those with most; 3 of the others are not known");
});

test("two views beside each other have one scale", async () => {
  const { page, faults, done } = await show("gemini");
  assert.equal(await page.locator(".view:visible").count(), 1);
  await page.locator(".network-key .views button", { hasText: "beside" }).click();
  await frame(page);
  assert.equal(await page.locator(".view:visible").count(), 2);
  assert.match(await page.locator(".network-key").textContent(), /both views have this scale/);
  assert.equal(await page.locator(".histogram:visible").count(), 2);
  await page.waitForFunction(() => location.hash.includes("beside=2x2x4"));
  const hash = await page.evaluate(() => location.hash);
  await done();
  const again = await show("gemini", { hash });
  assert.equal(await again.page.locator(".view:visible").count(), 2);
  assert.deepEqual([...faults, ...again.faults], []);
  await again.done();
});

test("a page opens with the views and the way that it is about, and names the recommended one", async () => {
  const { page, faults, done } = await show("gemini-opened");
  assert.equal(await page.locator(".view:visible").count(), 2);
  const heads = await page.locator(".view .head").allTextContents();
  assert.match(heads[1], /recommended$/);
  assert.doesNotMatch(heads[0], /recommended/);
  assert.equal(await page.locator(".network-key .views li").filter({ hasText: "recommended" }).count(), 1);
  assert.match(await page.locator(".says-of-ways").textContent(), / links? from /);
  // What somebody takes away stays away.
  await page.locator(".network-key button", { hasText: "clear" }).click();
  await page.waitForFunction(() => location.hash.includes("view="));
  const hash = await page.evaluate(() => location.hash);
  await done();
  const again = await show("gemini-opened", { hash });
  assert.match(await again.page.locator(".panel.ways").textContent(), /A click on two routers/);
  assert.deepEqual([...faults, ...again.faults], []);
  await again.done();
});

for (const name of ["gemini", "sonar", "five-axes", "dragonfly", "tree", "irregular"]) {
  test(`ways of ${name} are the library's`, async () => {
    const { page, faults, done } = await show(name);
    const ways = JSON.parse(readFileSync(join(folder, `${name}.ways.json`), "utf8"));
    assert.ok(ways.length);
    const names = await page.evaluate(async () => {
      const text = document.getElementById("talea-data").textContent;
      const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
      return (await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json()).routers.names;
    });
    let compared = 0;
    for (const [from, to, passed] of ways) {
      await page.evaluate((hash) => { location.hash = hash; }, `route=${from},${to}`);
      await page.waitForFunction(([from, to]) => document.querySelector(".ways")?.textContent.includes("there") || document.querySelector(".says-of-ways") || from === to, [from, to]);
      await frame(page);
      await frame(page);
      const says = await page.locator(".says-of-ways").textContent();
      if (!passed) {
        assert.match(says, /no way from/);
        continue;
      }
      // Leaf switches alone have hosts.
      if (/ways are kept between/.test(says)) continue;
      const hops = await page.locator(".panel.ways tbody tr").evaluateAll((rows) => rows.filter((row) => row.cells[0].textContent === "there").map((row) => row.cells[3].textContent));
      assert.equal(hops.length, passed.length, `${from} to ${to}: ${says}`);
      hops.forEach((hop, at) => assert.ok(hop.startsWith(names[passed[at]]), `${from} to ${to}, hop ${at}: ${hop}, not ${names[passed[at]]}`));
      compared++;
    }
    assert.ok(compared > 2, `${compared} ways were compared`);
    assert.deepEqual(faults, []);
    await done();
  });
}

test("ends of a way are typed, clicked and taken back", async () => {
  const { page, faults, done } = await show("gemini");
  const inputs = page.locator(".network-key .ends input");
  await inputs.nth(0).fill("1,0,5");
  await inputs.nth(0).press("Tab");
  await inputs.nth(1).fill("nonsense");
  await inputs.nth(1).press("Tab");
  assert.match(await page.locator(".network-key .ends").textContent(), /no router or host is called nonsense/);
  await inputs.nth(1).fill("1,0,7");
  await inputs.nth(1).press("Enter");
  await frame(page);
  await frame(page);
  assert.match(await page.locator(".says-of-ways").textContent(), /^2 links from .*\(1,0,5\) to .*\(1,0,7\); 2 links back/);
  await page.keyboard.press("Tab");
  await page.locator(".network-key button", { hasText: "clear" }).click();
  await frame(page);
  assert.match(await page.locator(".panel.ways").textContent(), /A click on two routers/);
  // The keyboard does what the pointer does.
  await page.locator(".view canvas").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await frame(page);
  await frame(page);
  assert.match(await page.locator(".says-of-ways").textContent(), /^2 links from /);
  assert.deepEqual(faults, []);
  await done();
});

test("pointing at a link says what it is", async () => {
  const { page, faults, done } = await show("gemini", { hash: "#slice=0:3" });
  const canvas = page.locator(".view canvas").first();
  const { x, y } = await canvas.boundingBox();
  let text = "";
  for (let down = 60; down < 200 && !/share of capacity/.test(text); down += 3) {
    await page.mouse.move(x + 128, y + down);
    text = (await page.locator(".bubble:visible").count()) ? await page.locator(".bubble").textContent() : "";
  }
  assert.match(text, /\u2192/);
  assert.match(text, /GB\/s/);
  assert.match(text, /load: .*B/);
  assert.match(text, /share of time stalled/);
  assert.deepEqual(faults, []);
  await done();
});

test("slices leave out what is not in them", async () => {
  const { page, faults, done } = await show("gemini");
  const canvas = page.locator(".view canvas").first();
  const before = await canvas.evaluate((one) => one.toDataURL());
  await page.locator('input[data-axis="2"]').fill("5");
  await frame(page);
  assert.notEqual(await canvas.evaluate((one) => one.toDataURL()), before);
  await page.waitForFunction(() => location.hash.includes("slice=2%3A5"));
  assert.deepEqual(faults, []);
  await done();
});

test("a torus turns by keys and by dragging", async () => {
  const { page, faults, done } = await show("gemini", { hash: "#solid=0.6,0.45" });
  const canvas = page.locator(".view canvas").first();
  const pictures = [await canvas.evaluate((one) => one.toDataURL())];
  await canvas.focus();
  await page.keyboard.press("ArrowLeft");
  await frame(page);
  pictures.push(await canvas.evaluate((one) => one.toDataURL()));
  const { x, y } = await canvas.boundingBox();
  await page.mouse.move(x + 300, y + 200);
  await page.mouse.down();
  await page.mouse.move(x + 380, y + 240, { steps: 4 });
  await page.mouse.up();
  await frame(page);
  pictures.push(await canvas.evaluate((one) => one.toDataURL()));
  assert.equal(new Set(pictures).size, 3);
  await page.waitForFunction(() => /solid=(?!0\.60)/.test(location.hash));
  assert.deepEqual(faults, []);
  await done();
});

test("a drag over the histogram keeps some links coloured", async () => {
  const { page, faults, done } = await show("gemini");
  const canvas = page.locator(".view canvas").first();
  const before = await canvas.evaluate((one) => one.toDataURL());
  const box = await page.locator(".histogram canvas").first().boundingBox();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 14, box.y + 60, { steps: 3 });
  await page.mouse.up();
  await frame(page);
  assert.notEqual(await canvas.evaluate((one) => one.toDataURL()), before);
  await page.waitForFunction(() => location.hash.includes("between="));
  await page.keyboard.press("Escape");
  await done();
  assert.deepEqual(faults, []);
});

test("a group opens to its routers", async () => {
  const { page, faults, done } = await show("aries");
  assert.equal(await page.locator(".view canvas:visible").count(), 1);
  await page.locator(".view canvas").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await frame(page);
  assert.equal(await page.locator(".view canvas:visible").count(), 2);
  assert.match(await page.locator(".panel.ways").textContent(), /No way can be shown: ways between so many routers are not kept/);
  await page.evaluate(() => { location.hash = "group=2&route=5,300"; });
  await frame(page);
  await frame(page);
  assert.match(await page.locator(".says-of-ways").textContent(), /not kept in this page/, "of 768 routers ways would be too many");
  assert.deepEqual(faults, []);
  await done();
});

test("links are a table and a file", async () => {
  const { page, faults, done } = await show("irregular");
  await page.locator(".panel.links button", { hasText: "table" }).click();
  assert.equal(await page.locator(".panel.links .behind tbody tr").count(), 18);
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator(".panel.links button", { hasText: "csv" }).click()]);
  const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n");
  assert.equal(lines.length, 19);
  assert.match(lines[0], /^from,to,way,made of,capacity \(B\/s\),share of capacity used,load \(B\)/);
  assert.match(await page.locator(".panel.degraded").textContent(), /4xDDR, its siblings are 4xEDR/);
  const [routers] = await Promise.all([page.waitForEvent("download"), page.locator(".panel.routers button", { hasText: "csv" }).click()]);
  assert.equal(readFileSync(await routers.path(), "utf8").trim().split("\r\n").length, 7);
  assert.deepEqual(faults, []);
  await done();
});

test("links that do not fit the torus are counted, in slabs and where it turns", async () => {
  for (const hash of ["", "#solid=0.6,0.45"]) {
    const { page, faults, done } = await show("astray", { hash });
    assert.match(await page.locator(".view .note").first().textContent(), /32 links are not drawn/, hash);
    assert.deepEqual(faults, []);
    await done();
  }
});

test("what is absent is said, zero is a number", async () => {
  const absent = await show("absent");
  assert.match(await absent.page.locator(".network-key").textContent(), /no link of this view has a value/);
  assert.match(await absent.page.locator(".histogram .note").first().textContent(), /384 are not known/);
  assert.match(await absent.page.locator(".gaps").textContent(), /permission denied/);
  assert.match(await absent.page.locator(".panel.dimensions").textContent(), /X128not knownnot knownnot known/);
  await absent.done();
  const empty = await show("empty");
  assert.match(await empty.page.locator(".histogram .note").first().textContent(), /384 of 384 links have none/);
  assert.deepEqual([...absent.faults, ...empty.faults], []);
  await empty.done();
});

test("large machines stay fluid", async () => {
  for (const name of ["gemini-ten", "large"]) {
    const { page, faults, done } = await show(name, { hash: "#shows=load" });
    const spent = await page.evaluate(async () => {
      const begin = performance.now();
      for (let at = 0; at < 4; at++) {
        document.querySelectorAll("select[data-key=scale]")[0].value = at % 2 ? "linear" : "log";
        document.querySelectorAll("select[data-key=scale]")[0].dispatchEvent(new Event("change"));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      }
      return (performance.now() - begin) / 4;
    });
    console.log(`${name}: ${spent.toFixed(0)} ms to draw`);
    assert.deepEqual(faults, []);
    await done();
  }
});

test("an address that names nothing shows the beginning", async () => {
  const { page, faults, done } = await show("gemini", { hash: "#view=__proto__&beside=x&shows=y&slice=9:9&slice=0:99&route=99999,x&solid=a&between=7&group=3" });
  assert.equal(await page.locator(".view:visible").count(), 1);
  assert.match(await page.locator(".panel.ways").textContent(), /A click on two routers/);
  assert.deepEqual(faults, []);
  await done();
});

test("without JavaScript the picture stands on the page", async () => {
  const page = readFileSync(join(folder, "gemini.html"), "utf8");
  const without = page.slice(page.indexOf("<noscript>"), page.indexOf("</noscript>"));
  assert.match(without, /<svg/);
  assert.doesNotMatch(without, /both views/);
  assert.match(without, /below is one of them/);
  const opened = readFileSync(join(folder, "gemini-opened.html"), "utf8");
  const two = opened.slice(opened.indexOf("<noscript>"), opened.indexOf("</noscript>"));
  assert.match(two, /both views/);
  assert.match(two, /recommended<\/tspan>/);
  assert.match(two, / links? from /);
});
