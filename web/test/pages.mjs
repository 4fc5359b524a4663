// Opens the made-up reports in headless Chromium. Each test gets a page that fails on any console error or
// any request.
//
// The reports come from the folder that TALEA_SAMPLES names, or are written first by the example `samples` of
// talea-report. Chromium is /usr/bin/chromium or what CHROMIUM names.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { samples } from "./examples.mjs";

const folder = process.env.TALEA_SAMPLES || samples("samples");

let browser;

export async function open() {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
}

export async function close() {
  await browser?.close();
}

/** A page with one report, and what went wrong on it so far. `alter` runs in the page before all of its own code. */
export async function report(name, { hash = "", width = 1280, height = 1000, dark = false, ready = ".crumbs", alter = undefined } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", acceptDownloads: true });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!/^(file|blob|data):/.test(request.url())) faults.push(`request: ${request.url()}`);
  });
  if (alter) await page.addInitScript(alter);
  await page.goto(pathToFileURL(join(folder, `${name}.html`)).href + hash);
  await page.waitForSelector(ready, { state: "attached" });
  // Plots are drawn in the frame after their width is known.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
  return { page, faults, done: () => context.close() };
}
