/** What the driver's code is called in stacks. */
export const DRIVER_NAME = "sandgate:driver";

/**
 * The only code of ours inside the guest's heap. It is evaluated before the tool, so that it holds the
 * intrinsics as they were; whatever the tool does to the globals afterwards, this keeps working. Text goes
 * in, text comes out:
 * - it gives `""` as long as there is no outcome, then `+` and the output's JSON, or `-` and the failure's
 *   `[name, message, stack]`;
 * - it sends `c[id, name, input]` for a nested call, and `l[level, message]` for a log line.
 *
 * Its own functions bear no name that a guest could meet, and nothing that it sends grants anything: the host
 * checks each request against the grant of the call.
 */
export const DRIVER_SOURCE: string = `(send) => {
  "use strict";
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
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

  const call = (name, input) => new PromiseOf((resolve, reject) => {
    const written = stringify(input === undefined ? {} : input);
    if (typeof name !== "string" || written === undefined) {
      throw new TypeError("tools.call takes the name of a tool and an input that JSON can express");
    }
    const id = ++lastId;
    waiting[id] = { resolve, reject };
    send("c" + stringify([id, name, written]));
  });
  // A call that is cancelled or late ends with its whole heap: in here nothing ever aborts.
  const signal = freeze({ aborted: false, reason: undefined, throwIfAborted() {}, addEventListener() {}, removeEventListener() {} });
  const context = freeze({ tools: freeze({ call }), signal, log: freeze(log) });

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
    start: (input) => {
      outcome = "";
      try { settle(tool(parse(input), context), finish); } catch (thrown) { fail(thrown); }
      return outcome;
    },
    settle: (replies) => {
      const list = parse(replies);
      for (let i = 0; i < list.length; i++) {
        const { id, output, error } = list[i];
        const call = waiting[id];
        delete waiting[id];
        if (error === undefined) { call.resolve(output); continue; }
        const thrown = new Error(error.message);
        thrown.name = "ToolCallError";
        thrown.code = error.code;
        call.reject(thrown);
      }
      return outcome;
    },
    poll: () => outcome,
  };
}`;
