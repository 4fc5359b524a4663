// Takes the picture of a report that the README shows: `node picture.mjs REPORT.html PICTURE.webp`.
// Light, as wide as a small screen, with the sharpness of a good one. Chromium is /usr/bin/chromium or what CHROMIUM names.

import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [report, picture] = process.argv.slice(2);
if (!report || !picture) {
  console.error("usage: node picture.mjs REPORT.html PICTURE.webp");
  process.exit(2);
}
const MOST = 150 * 1024;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 880 }, deviceScaleFactor: 1.5, colorScheme: "light" });
await page.goto(pathToFileURL(resolve(report)).href);
await page.waitForSelector("#timeline .rows canvas");
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
const session = await page.context().newCDPSession(page);
let bytes;
for (let quality = 90; quality >= 30 && !(bytes?.length < MOST); quality -= 10) {
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality });
  bytes = Buffer.from(data, "base64");
}
await browser.close();
writeFileSync(picture, bytes);
console.log(`wrote ${picture}, ${(bytes.length / 1024).toFixed(0)} KiB`);
if (bytes.length >= MOST) process.exitCode = 1;
