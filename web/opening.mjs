// Prints the time that a page takes to open in headless Chromium, in ms: `node opening.mjs PAGE.html SELECTOR [PICTURE.png]`.
// The median of five fresh pages, from the begin of navigation to the second frame after an element of the selector is
// there. With PICTURE it also takes one, of the whole page, light, and one in dark colours beside it (PICTURE.dark.png).
// Chromium is /usr/bin/chromium or what CHROMIUM names.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, selector, picture] = process.argv.slice(2);
if (!file || !selector) {
  console.error("usage: node opening.mjs PAGE.html SELECTOR [PICTURE.png]");
  process.exit(2);
}
const address = pathToFileURL(resolve(file)).href;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });

async function open(colorScheme) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 880 }, colorScheme });
  await page.goto(address, { waitUntil: "commit" });
  await page.waitForSelector(selector, { state: "attached" });
  const ms = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))));
  return { page, ms };
}

const times = [];
for (let round = 0; round < 5; round += 1) {
  const { page, ms } = await open("light");
  times.push(ms);
  if (picture && round === 0) await page.screenshot({ path: picture, fullPage: true });
  await page.close();
}
if (picture) {
  const { page } = await open("dark");
  await page.screenshot({ path: picture.replace(/(\.png)?$/, ".dark.png"), fullPage: true });
}
await browser.close();
console.log(Math.round(times.sort((a, b) => a - b)[2]));
