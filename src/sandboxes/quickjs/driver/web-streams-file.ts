import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** The name of the copy of web-streams-polyfill that the build makes beside the file of QuickJS's thread. */
const COPY = "./web-streams.js";

/** Returns the path of web-streams-polyfill: of the copy in the package, or of the development dependency. */
export function webStreamsFile(): string {
  const copy = fileURLToPath(new URL(COPY, import.meta.url));
  return existsSync(copy) ? copy : createRequire(import.meta.url).resolve("web-streams-polyfill");
}
