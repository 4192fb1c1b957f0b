import { FETCH_SOURCE } from "./driver-fetch.ts";
import { FILES_SOURCE } from "./driver-files.ts";

/** The name of the driver's code in stacks. */
export const DRIVER_NAME = "sandgate:driver";

/**
 * The only trusted code inside the guest's heap. It is evaluated before the tool and keeps the original intrinsics,
 * so it works whatever the tool does to the globals. It communicates in text:
 *
 * - its functions return `""` as long as there is no outcome, then `+` and the output as JSON, or `-` and
 *   `[name, message, stack, code]` of the failure
 * - it sends `c[id, name, input]` for a nested call, `f[id, method, url, headers, body, follow]` for an HTTP
 *   request, and `l[level, message]` for a log line
 * - it sends `s[operation, path, argument]` for a file operation, and receives `{ ok }` or `{ error }`
 *
 * A guest cannot reach its internal functions by name. Nor does a message grant anything: the host checks each
 * request against the grant of the call. Messages are assembled from primitive values only, because `JSON.stringify`
 * calls `toJSON` on every object, and a guest can define one on `Object.prototype` or `Array.prototype` that throws
 * or returns a value of any size.
 */
export const DRIVER_SOURCE: string = driverSource("undefined", "undefined");

/** The driver with `fetch` and `fs`, for calls that are granted one of them. It would only enlarge other heaps. */
export const EXTERNAL_DRIVER_SOURCE: string = driverSource(
  `(${FETCH_SOURCE})(ask, failure)`,
  `(${FILES_SOURCE})(send, failure)`,
);

/** Takes the sources of expressions for the functions that only some calls are granted. */
function driverSource(fetch: string, fs: string): string {
  return `(send) => {
  "use strict";
  const { parse, stringify } = JSON;
  const { apply, defineProperty } = Reflect;
  const { freeze } = Object;
  const PromiseOf = Promise;
  const { then } = Promise.prototype;
  const text = String;
  const CUT = 8192;
  const waiting = { __proto__: null };
  let lastId = 0;
  let outcome = "";
  let tool;

  const readable = (value) => {
    try {
      const written = typeof value === "string" ? value : stringify(value);
      return written === undefined ? text(value) : written;
    } catch {
      return "[unreadable]";
    }
  };
  const cut = (value) => {
    if (value.length <= CUT) return value;
    let start = "";
    for (let i = 0; i < CUT; i++) start += value[i];
    return start;
  };
  const read = (object, key) => {
    try { const value = object[key]; return typeof value === "string" ? cut(value) : ""; } catch { return ""; }
  };
  const describe = (thrown) => {
    const isObject = typeof thrown === "object" && thrown !== null;
    const said = isObject ? read(thrown, "message") : "";
    const message = said !== "" ? said : thrown === undefined || thrown === null ? "" : cut(readable(thrown));
    const name = isObject ? read(thrown, "name") : "";
    const stack = isObject ? read(thrown, "stack") : "";
    const code = isObject ? read(thrown, "code") : "";
    return "-[" + stringify(name) + "," + stringify(message) + "," + stringify(stack) + "," + stringify(code) + "]";
  };
  const fail = (thrown) => { outcome = describe(thrown); };
  const finish = (value) => {
    try {
      const written = stringify(value);
      if (written === undefined && value !== undefined) {
        throw new TypeError("Tool returned a " + typeof value + ", which is not JSON-serialisable");
      }
      outcome = "+" + (written === undefined ? "null" : written);
    } catch (thrown) {
      fail(thrown);
    }
  };
  // For anything but a real promise, the intrinsic \`then\` throws: the value is then the result itself.
  const settle = (value, next) => {
    const go = (settled) => { try { next(settled); } catch (thrown) { fail(thrown); } };
    if (!(value instanceof PromiseOf)) return go(value);
    try { apply(then, value, [go, fail]); } catch { go(value); }
  };

  // There are no threads here: shared memory would only serve to measure time.
  delete globalThis.SharedArrayBuffer;
  delete globalThis.Atomics;

  const line = (level) => (...items) => {
    let joined = "";
    for (let i = 0; i < items.length; i++) joined += (i === 0 ? "" : " ") + cut(readable(items[i]));
    send('l["' + level + '",' + stringify(joined) + "]");
  };
  const levels = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
  globalThis.console = { log: line("info"), ...levels };
  const log = line("info");
  for (const level in levels) log[level] = levels[level];

  const failure = (name, { code, message }) => {
    const thrown = new Error(message);
    thrown.name = name;
    thrown.code = code;
    return thrown;
  };
  // Sends an asynchronous request: the host passes the reply to \`settle\`.
  const ask = (kind, written, resolve, reject, errorName) => {
    const id = ++lastId;
    waiting[id] = { resolve, reject, errorName };
    send(kind + "[" + id + "," + written + "]");
  };
  const call = (name, input) => new PromiseOf((resolve, reject) => {
    const written = stringify(input === undefined ? {} : input);
    if (typeof name !== "string" || written === undefined) {
      throw new TypeError("tools.call takes the name of a tool and a JSON-serialisable input");
    }
    ask("c", stringify(name) + "," + stringify(written), resolve, reject, "ToolCallError");
  });

  const fetch = ${fetch};
  const fs = ${fs};

  // The signal never aborts: a call that is cancelled or late ends with its whole heap.
  const signal = freeze({ aborted: false, reason: undefined, throwIfAborted() {}, addEventListener() {}, removeEventListener() {} });
  const context = { tools: freeze({ call }), signal, log: freeze(log) };
  // Which functions are visible depends on the call, but that is no protection: the host refuses what was not
  // granted.
  const contextOf = (hasNet, hasFs) => {
    if (hasNet) defineProperty(globalThis, "fetch", { value: fetch, writable: true, configurable: true });
    return freeze(hasFs ? { ...context, fs } : context);
  };

  return {
    load: (module, failed, name) => {
      if (failed) { fail(module); return outcome; }
      settle(module, (namespace) => {
        const exported = namespace[name];
        if (typeof exported !== "function") throw new TypeError("the module has no exported function '" + name + "'");
        tool = exported;
        outcome = "+true";
      });
      return outcome;
    },
    start: (input, hasNet, hasFs) => {
      outcome = "";
      try { settle(tool(parse(input), contextOf(hasNet, hasFs)), finish); } catch (thrown) { fail(thrown); }
      return outcome;
    },
    settle: (replies) => {
      const list = parse(replies);
      for (let i = 0; i < list.length; i++) {
        const { id, ok, error } = list[i];
        const { resolve, reject, errorName } = waiting[id];
        delete waiting[id];
        if (error === undefined) resolve(ok);
        else reject(failure(errorName, error));
      }
      return outcome;
    },
    poll: () => outcome,
  };
}`;
}
