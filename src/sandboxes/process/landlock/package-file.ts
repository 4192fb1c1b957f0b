import { type BigIntStats, lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { guardedAccess } from "../../../workspace/guarded-cover.ts";
import type { GrantedPath } from "./launch-plan.ts";

/**
 * Finds what Node.js reads to know how to load a module: the `package.json` in the module's directory, or else in the nearest
 * one above it. Landlock cannot hide one that is outside of what is granted, and Node.js ends if it exists and cannot be
 * read.
 *
 * @param directory An absolute path.
 * @returns Undefined if there is none, it is not a regular file (a link could lead to anything), or no tool may read it.
 */
export function nearestPackageFile(directory: string): GrantedPath | undefined {
  for (let at = directory; ; at = dirname(at)) {
    const path = join(at, "package.json");
    const stat = statOf(path);
    if (stat !== undefined)
      return stat.isFile() && guardedAccess(path) !== "none"
        ? { path, access: "read", identity: `${stat.dev}:${stat.ino}` }
        : undefined;
    if (at === dirname(at)) return undefined;
  }
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}
