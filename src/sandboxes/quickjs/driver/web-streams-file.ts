import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { resolveDependency } from "../../../base/package/resolve-dependency.ts";

/**
 * Where the build puts its copy of web-streams-polyfill: beside the file of QuickJS's thread. This code is in that file, and
 * in a chunk, for the build of the engine that suspended programs name.
 */
const COPIES = ["./web-streams.js", "../sandboxes/quickjs/thread/web-streams.js"];

/** Returns the path of web-streams-polyfill: of the copy in the package, or of the development dependency. */
export function webStreamsFile(): string {
  const copies = COPIES.map((copy) => fileURLToPath(new URL(copy, import.meta.url)));
  return copies.find((copy) => existsSync(copy)) ?? resolveDependency("web-streams-polyfill");
}
