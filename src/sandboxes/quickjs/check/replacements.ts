const TAKE_INPUT = "take what the tool needs from its input";
const ES_MODULE = "write an ES module, with import and export; bundle packages";
const NO_BROWSER = "there is no page; take what the tool needs from its input";
const USE_FETCH = "use fetch";
const USE_FS = "use the context's fs";
const NO_THREADS = "there are no threads; use ArrayBuffer";

/** What a tool can use instead of a global that other runtimes have. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  process: `there are no environment variables, arguments or standard streams; ${TAKE_INPUT}`,
  Deno: TAKE_INPUT,
  Bun: TAKE_INPUT,
  require: ES_MODULE,
  module: ES_MODULE,
  exports: ES_MODULE,
  __dirname: USE_FS,
  __filename: USE_FS,
  Buffer: "use Uint8Array, with TextEncoder and TextDecoder for text",
  global: "use globalThis",
  window: "use globalThis",
  setImmediate: "use setTimeout(f, 0)",
  clearImmediate: "use clearTimeout",
  URLPattern: "use URL and a regular expression",
  XMLHttpRequest: USE_FETCH,
  WebSocket: USE_FETCH,
  EventSource: USE_FETCH,
  localStorage: USE_FS,
  sessionStorage: "use a variable; each call starts anew",
  indexedDB: USE_FS,
  document: NO_BROWSER,
  location: NO_BROWSER,
  alert: "use the context's log",
  SharedArrayBuffer: NO_THREADS,
  Atomics: NO_THREADS,
  Worker: "there are no threads; the context's tools.call calls other tools",
  WebAssembly: "register a WebAssembly component as a tool of its own (docs/wasm-tools.md)",
};

/** Returns what to use instead of a global; `undefined` if nothing is known. */
export function replacementFor(name: string): string | undefined {
  return Object.hasOwn(REPLACEMENTS, name) ? REPLACEMENTS[name] : undefined;
}
