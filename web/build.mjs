// Builds dist/: for each page one program, one style sheet, and the program's hash for the page's policy; in dist/serve
// the server's pages, in dist/watch the page of a running program.
// The results are kept in the repository, so that building the Rust crates needs no JavaScript tools;
// `--check` says whether they are those of the source (exit code 1 where not) and writes nothing.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const options = { bundle: true, minify: true, legalComments: "none", write: false, outdir: "dist" };
const pages = ["report", "topo", "network"];
// The style sheet of the report is a part of the other pages; its own page has more.
const styles = { report: "page" };
const files = {};
for (const page of pages) {
  const [program, style] = await Promise.all([
    build({ ...options, entryPoints: { [page]: `src/${page}/main.ts` }, format: "iife", target: "es2022", charset: "ascii" }),
    build({ ...options, entryPoints: { [page]: `src/${page}/${styles[page] ?? page}.css` } }),
  ]);
  files[`${page}.js`] = program.outputFiles[0].contents;
  files[`${page}.css`] = style.outputFiles[0].contents;
  files[`${page}.sha256`] = Buffer.from(createHash("sha256").update(files[`${page}.js`]).digest("base64") + "\n");
}

// These pages are files that a server gives out, so that their policy allows no program in the text.
const sites = ["serve", "watch"];
for (const site of sites) {
  const [program, style] = await Promise.all([
    build({ ...options, entryPoints: { app: `src/${site}/main.ts` }, format: "iife", target: "es2022", charset: "ascii" }),
    build({ ...options, entryPoints: { app: `src/${site}/app.css` } }),
  ]);
  files[`${site}/app.js`] = program.outputFiles[0].contents;
  files[`${site}/app.css`] = style.outputFiles[0].contents;
  files[`${site}/index.html`] = readFileSync(`src/${site}/index.html`);
}

if (process.argv.includes("--check")) {
  const stale = Object.entries(files).filter(([name, bytes]) => !readFileSync(`dist/${name}`).equals(Buffer.from(bytes)));
  for (const [name] of stale) console.error(`dist/${name} is not what the source builds: run \`npm run build\``);
  process.exitCode = stale.length ? 1 : 0;
} else {
  for (const site of sites) mkdirSync(`dist/${site}`, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) writeFileSync(`dist/${name}`, bytes);
}
for (const page of [...pages, ...sites.map((site) => `${site}/app`)]) {
  const packed = gzipSync(Buffer.concat([files[`${page}.js`], files[`${page}.css`]])).length;
  console.log(`${page}: first load ${(packed / 1024).toFixed(1)} KiB gzip of 200`);
  if (packed > 200 * 1024) process.exitCode = 1;
}
