// The examples of the workspace that the tests run: from the folder that TALEA_EXAMPLES names, or built by cargo.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the workspace. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The command that runs an example of a package, as a list of words. */
export const example = (package_, name) => process.env.TALEA_EXAMPLES
  ? [join(process.env.TALEA_EXAMPLES, name)]
  : ["cargo", "run", "--quiet", "--release", "-p", package_, "--example", name, "--"];

/** A new folder with what an example of talea-report writes; it goes when the tests of the file end. */
export function samples(name) {
  const folder = mkdtempSync(join(tmpdir(), `talea-${name}-`));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const [command, ...words] = example("talea-report", name);
  execFileSync(command, [...words, folder], { cwd: root, stdio: "inherit" });
  return folder;
}
