import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { resolveDependency } from "../../../base/package/resolve-dependency.ts";

/** The name of the copy of web-streams-polyfill that the build makes beside the file of QuickJS's thread. */
const COPY = "./web-streams.js";

/** Returns the path of web-streams-polyfill: of the copy in the package, or of the development dependency. */
export function webStreamsFile(): string {
  const copy = fileURLToPath(new URL(COPY, import.meta.url));
  return existsSync(copy) ? copy : resolveDependency("web-streams-polyfill");
}
