import { chownSync, linkSync, mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";

/**
 * The attacker of a race, in its own thread. In an endless loop, it replaces a directory (`d`) and files
 * (`f`, `h`) by links to the outside, and moves a directory that may be open (`x/y`).
 */
const { root, outside } = workerData as { readonly root: string; readonly outside: string };
const at = (name: string): string => join(root, name);

mkdirSync(at("d"));
mkdirSync(at("x/y/z"), { recursive: true });
for (const file of ["d/f", "f", "h", "x/y/z/f"]) writeFileSync(at(file), "OK");
symlinkSync("../outside", at("d-link"));
symlinkSync("../outside/f", at("f-link"));
// A file of this user may be read by any of its names.
if (process.getuid?.() === 0) {
  chownSync(join(outside, "secret.txt"), 65_534, 65_534);
  linkSync(join(outside, "secret.txt"), at("h-link"));
} else writeFileSync(at("h-link"), "OK");
parentPort?.postMessage("ready");

for (;;) {
  for (const name of ["d", "f", "h"]) {
    tryTo(() => renameSync(at(name), at(`${name}-kept`)));
    tryTo(() => renameSync(at(`${name}-link`), at(name)));
    tryTo(() => renameSync(at(name), at(`${name}-link`)));
    tryTo(() => renameSync(at(`${name}-kept`), at(name)));
  }
  tryTo(() => renameSync(at("x/y"), at("y")));
  tryTo(() => symlinkSync("../../outside", at("x/y")));
  tryTo(() => unlinkSync(at("x/y")));
  tryTo(() => renameSync(at("y"), at("x/y")));
}

/** Ignores errors, since the other thread may have been faster. */
function tryTo(act: () => void): void {
  try {
    act();
  } catch {
    return;
  }
}
