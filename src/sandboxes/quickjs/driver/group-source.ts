import { readFileSync } from "node:fs";
import type { WebGroup } from "./globals.ts";
import { LOSS_SOURCE } from "./loss.ts";
import { BLOB_SOURCE } from "./web/blob.ts";
import { CLONE_SOURCE } from "./web/clone.ts";
import { CONSOLE_SOURCE, LOG_VALUES_SOURCE } from "./web/console.ts";
import { CRYPTO_SOURCE } from "./web/crypto.ts";
import { ENCODING_SOURCE, TEXT_STREAMS_SOURCE } from "./web/encoding.ts";
import { ES2026_SOURCE } from "./web/es2026.ts";
import { EVENTS_SOURCE } from "./web/events.ts";
import { FETCH_SOURCE } from "./web/fetch.ts";
import { FILES_SOURCE } from "./web/files.ts";
import { GLOBAL_SOURCE, TIMERS_SOURCE } from "./web/global.ts";
import { ERRORS_SOURCE, HOST_SOURCE } from "./web/host.ts";
import { INTL_SOURCE } from "./web/intl.ts";
import { COMPRESSION_SOURCE, webStreamsFile } from "./web/streams.ts";
import { URL_SOURCE } from "./web/url.ts";

/** The sources of groups: functions that receive the driver's functions and return what the group defines, by name. */
const SOURCES: Readonly<Record<Exclude<WebGroup, "streams">, string>> = {
  blob: BLOB_SOURCE,
  clone: CLONE_SOURCE,
  compression: COMPRESSION_SOURCE,
  console: CONSOLE_SOURCE,
  crypto: CRYPTO_SOURCE,
  encoding: ENCODING_SOURCE,
  errors: ERRORS_SOURCE,
  es2026: ES2026_SOURCE,
  events: EVENTS_SOURCE,
  fetch: FETCH_SOURCE,
  files: FILES_SOURCE,
  global: GLOBAL_SOURCE,
  host: HOST_SOURCE,
  intl: INTL_SOURCE,
  "log-values": LOG_VALUES_SOURCE,
  loss: LOSS_SOURCE,
  "text-streams": TEXT_STREAMS_SOURCE,
  timers: TIMERS_SOURCE,
  url: URL_SOURCE,
};

let streams: string | undefined;

/**
 * Returns the source of a group. The driver is the only one that asks, with a name of its own.
 *
 * @throws {Error} if there is no such group.
 */
export function groupSource(name: string): string {
  if (name === "streams") {
    streams ??= streamsSource();
    return streams;
  }
  if (!Object.hasOwn(SOURCES, name)) throw new Error("unknown group of the driver");
  return SOURCES[name as keyof typeof SOURCES];
}

/** The sources of all groups, in a fixed order. */
export function allGroupSources(): readonly string[] {
  return [...Object.keys(SOURCES).sort(), "streams"].map(groupSource);
}

/** Streams are web-streams-polyfill's, which is read when a tool first uses them. Its file is a UMD module. */
function streamsSource(): string {
  const library = readFileSync(webStreamsFile(), "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, "");
  return `() => { const exports = {}, module = {};\n${library}\nreturn exports; }`;
}
