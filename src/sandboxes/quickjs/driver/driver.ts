import { FETCH_SOURCE } from "./driver-fetch.ts";
import { FILES_SOURCE } from "./driver-files.ts";

/** What the driver's code is called in stacks. */
export const DRIVER_NAME = "sandgate:driver";

/**
 * The only code of ours inside the guest's heap. It is evaluated before the tool, so that it holds the
 * intrinsics as they were; whatever the tool does to the globals afterwards, this keeps working. Text goes
 * in, text comes out:
 * - it gives `""` as long as there is no outcome, then `+` and the output's JSON, or `-` and the failure's
 *   `[name, message, stack]`;
 * - it sends `c[id, name, input]` for a nested call, `f[id, method, url, headers, body, follow]` for an HTTP
 *   request, and `l[level, message]` for a log line;
 * - it sends `s[operation, path, argument]` to do something with files, and gets `{ ok }` or `{ error }` back.
 *
 * Its own functions bear no name that a guest could meet, and nothing that it sends grants anything: the host
 * checks each request against the grant of the call.
 */
export const DRIVER_SOURCE: string = driverSource("undefined", "undefined");

/** The same with what the grant of a call can give of the world outside; others need not carry it along. */
export const EXTERNAL_DRIVER_SOURCE: string = driverSource(
  `(${FETCH_SOURCE})(ask, failure)`,
  `(${FILES_SOURCE})(send, failure)`,
);

/** The parameters are expressions: the functions that a grant gives. */
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
    return "-" + stringify([isObject ? read(thrown, "name") : "", message, isObject ? read(thrown, "stack") : ""]);
  };
  const fail = (thrown) => { outcome = describe(thrown); };
  const finish = (value) => {
    try {
      const written = stringify(value);
      if (written === undefined && value !== undefined) {
        throw new TypeError("Tool returned a " + typeof value + ", which JSON cannot express");
      }
      outcome = "+" + (written === undefined ? "null" : written);
    } catch (thrown) {
      fail(thrown);
    }
  };
  // Only a true promise passes the intrinsic \`then\`; anything else is a value.
  const settle = (value, next) => {
    const go = (settled) => { try { next(settled); } catch (thrown) { fail(thrown); } };
    if (!(value instanceof PromiseOf)) return go(value);
    try { apply(then, value, [go, fail]); } catch { go(value); }
  };

  // There are no threads in here: what shared memory is good for is telling time.
  delete globalThis.SharedArrayBuffer;
  delete globalThis.Atomics;

  const line = (level) => (...items) => {
    let joined = "";
    for (let i = 0; i < items.length; i++) joined += (i === 0 ? "" : " ") + cut(readable(items[i]));
    send("l" + stringify([level, joined]));
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
  // Asks for what takes a while: the host gives the reply to \`settle\`.
  const ask = (kind, parts, resolve, reject, errorName) => {
    const id = parts[0] = ++lastId;
    waiting[id] = { resolve, reject, errorName };
    send(kind + stringify(parts));
  };
  const call = (name, input) => new PromiseOf((resolve, reject) => {
    const written = stringify(input === undefined ? {} : input);
    if (typeof name !== "string" || written === undefined) {
      throw new TypeError("tools.call takes the name of a tool and an input that JSON can express");
    }
    ask("c", [0, name, written], resolve, reject, "ToolCallError");
  });

  const fetch = ${fetch};
  const fs = ${fs};

  // A call that is cancelled or late ends with its whole heap: in here nothing ever aborts.
  const signal = freeze({ aborted: false, reason: undefined, throwIfAborted() {}, addEventListener() {}, removeEventListener() {} });
  const context = { tools: freeze({ call }), signal, log: freeze(log) };
  // What is in reach depends on the call, and decides nothing: the host refuses what was not granted.
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
        const { id, output, error } = list[i];
        const { resolve, reject, errorName } = waiting[id];
        delete waiting[id];
        if (error === undefined) resolve(output);
        else reject(failure(errorName, error));
      }
      return outcome;
    },
    poll: () => outcome,
  };
}`;
}
