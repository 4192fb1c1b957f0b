import { readFileSync } from "node:fs";
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

/**
 * The groups of web APIs, and of parts of the driver that few calls need. A group is evaluated in a guest's heap when a
 * tool names one of its globals, or uses one.
 */
export type WebGroup =
  | "blob"
  | "clone"
  | "compression"
  | "console"
  | "crypto"
  | "encoding"
  | "errors"
  | "es2026"
  | "events"
  | "fetch"
  | "files"
  | "global"
  | "host"
  | "intl"
  | "log-values"
  | "loss"
  | "streams"
  | "text-streams"
  | "timers"
  | "url";

/** The web APIs that every guest has as globals, with the group that defines each. */
const WEB_GLOBALS_BY_GROUP: Readonly<Partial<Record<WebGroup, readonly string[]>>> = {
  blob: ["Blob", "File", "FormData"],
  clone: ["structuredClone"],
  compression: ["CompressionStream", "DecompressionStream"],
  crypto: ["Crypto", "SubtleCrypto", "crypto"],
  encoding: ["TextDecoder", "TextEncoder", "atob", "btoa"],
  errors: ["DOMException"],
  events: ["AbortController", "AbortSignal", "CustomEvent", "Event", "EventTarget"],
  fetch: ["Headers", "Request", "Response", "fetch"],
  global: ["navigator", "performance", "reportError"],
  intl: ["Intl"],
  streams: [
    "ByteLengthQueuingStrategy",
    "CountQueuingStrategy",
    "ReadableByteStreamController",
    "ReadableStream",
    "ReadableStreamBYOBReader",
    "ReadableStreamBYOBRequest",
    "ReadableStreamDefaultController",
    "ReadableStreamDefaultReader",
    "TransformStream",
    "TransformStreamDefaultController",
    "WritableStream",
    "WritableStreamDefaultController",
    "WritableStreamDefaultWriter",
  ],
  "text-streams": ["TextDecoderStream", "TextEncoderStream"],
  timers: ["clearInterval", "clearTimeout", "queueMicrotask", "setInterval", "setTimeout"],
  url: ["URL", "URLSearchParams"],
};

/** The web APIs that every guest has as globals, by name. */
export const WEB_GLOBALS: ReadonlyMap<string, WebGroup> = new Map(
  Object.entries(WEB_GLOBALS_BY_GROUP).flatMap(([group, names]) =>
    names.map((name) => [name, group as WebGroup] as const),
  ),
);

/** The globals of the engine, and those that the driver defines at once. */
const OTHER_GLOBALS: readonly string[] = [
  "AggregateError",
  "Array",
  "ArrayBuffer",
  "BigInt",
  "BigInt64Array",
  "BigUint64Array",
  "Boolean",
  "DataView",
  "Date",
  "Error",
  "EvalError",
  "FinalizationRegistry",
  "Float16Array",
  "Float32Array",
  "Float64Array",
  "Function",
  "Infinity",
  "Int16Array",
  "Int32Array",
  "Int8Array",
  "InternalError",
  "Iterator",
  "JSON",
  "Map",
  "Math",
  "NaN",
  "Number",
  "Object",
  "Promise",
  "Proxy",
  "RangeError",
  "ReferenceError",
  "Reflect",
  "RegExp",
  "Set",
  "String",
  "Symbol",
  "SyntaxError",
  "TypeError",
  "URIError",
  "Uint16Array",
  "Uint32Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "WeakMap",
  "WeakRef",
  "WeakSet",
  "console",
  "decodeURI",
  "decodeURIComponent",
  "encodeURI",
  "encodeURIComponent",
  "escape",
  "eval",
  "globalThis",
  "isFinite",
  "isNaN",
  "parseFloat",
  "parseInt",
  "self",
  "undefined",
  "unescape",
];

/** Every global of a guest, sorted by code units. */
export const GUEST_GLOBALS: readonly string[] = [...OTHER_GLOBALS, ...WEB_GLOBALS.keys()].sort();

/** Names other than globals whose use needs a group. */
const OTHER_NAMES: ReadonlyMap<string, WebGroup> = new Map<string, WebGroup>([
  ["fs", "files"],
  ["signal", "events"],
  ["localeCompare", "intl"],
  ["toLocaleString", "intl"],
  ["toLocaleDateString", "intl"],
  ["toLocaleTimeString", "intl"],
  ["fromAsync", "es2026"],
  ["fromBase64", "es2026"],
  ["fromHex", "es2026"],
  ["setFromBase64", "es2026"],
  ["setFromHex", "es2026"],
  ["toBase64", "es2026"],
  ["toHex", "es2026"],
  ["console", "log-values"],
  ["log", "log-values"],
]);

const NAMED = new RegExp(`\\b(?:${[...WEB_GLOBALS.keys(), ...OTHER_NAMES.keys()].join("|")})\\b`, "g");

/** The methods of `console` that the driver does not define at once. */
const CONSOLE =
  /\bconsole\s{0,8}\.\s{0,8}(?:assert|clear|count|countReset|dir|dirxml|group|groupCollapsed|groupEnd|table|time|timeEnd|timeLog|trace)\b/;

/** What a source needs to name a global that its text does not name: the global object, code from text, or escapes. */
const UNNAMED = /\b(?:globalThis|self|eval|Function)\b|\\u/;

/** The web APIs that a program needs. */
export interface NeededWebApis {
  /** The groups whose names occur in the program. They are evaluated once, and become part of the template. */
  readonly groups: readonly WebGroup[];
  /** The globals to define. */
  readonly globals: readonly (readonly [name: string, group: WebGroup])[];
}

/**
 * Finds the web APIs that a program needs. Most tools need few, and what a heap contains is copied for every call: so a
 * global is defined only where the program can name it.
 */
export function webApisIn(sources: readonly string[]): NeededWebApis {
  const names = new Set(sources.flatMap((source) => source.match(NAMED) ?? []));
  const groups = new Set<WebGroup>();
  for (const name of names) groups.add((WEB_GLOBALS.get(name) ?? OTHER_NAMES.get(name)) as WebGroup);
  const needsAll = sources.some((source) => UNNAMED.test(source));
  // These change objects of the engine, so they cannot wait for the first use.
  if (needsAll || sources.some((source) => CONSOLE.test(source))) groups.add("console");
  if (needsAll) groups.add("intl").add("es2026");
  const globals = [...WEB_GLOBALS].filter(([name]) => needsAll || names.has(name));
  return { groups: [...groups], globals };
}

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
