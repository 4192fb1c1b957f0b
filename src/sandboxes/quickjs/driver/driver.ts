import { FAILURE_SOURCE } from "./driver-failure.ts";
import { LOSS_SOURCE } from "./loss.ts";

/** The name of the driver's code in stacks. */
export const DRIVER_NAME = "sandgate:driver";

/**
 * The only trusted code inside the guest's heap. It is evaluated before the tool and keeps the original intrinsics,
 * so it works whatever the tool does to the globals. It communicates in text:
 *
 * - its functions return `""` as long as there is no outcome (or `~` and the milliseconds until its first timer is
 *   due), then `+` and the output as JSON, or `-` and `[name, message, stack, code, ...related]` of the failure
 * - it sends `c[id, name, input]` for a nested call, `f[id, method, url, headers, body, follow]` for an HTTP
 *   request, and `l[level, message]` for a log line
 * - it sends `n`, and receives the names of the tools that it can call, if the tool may list them
 * - it sends `s[operation, path, argument]` for a file operation and `w[operation, ...arguments]` for what a web API
 *   needs of the host, and receives `{ ok }` or `{ error }`, or bytes; `r` for the rest of the call's wall time in ms
 *
 * Bytes are sent beside a message, as an `ArrayBuffer` that the host copies.
 *
 * Web APIs are in groups, which are evaluated on first use: `group(name)` returns a function of the driver's functions.
 *
 * A guest cannot reach its internal functions by name. Nor does a message grant anything: the host checks each
 * request against the grant of the call. Messages are assembled from primitive values only, because `JSON.stringify`
 * calls `toJSON` on every object, and a guest can define one on `Object.prototype` or `Array.prototype` that throws
 * or returns a value of any size.
 */
export const DRIVER_SOURCE: string = `(send, group) => {
  "use strict";
  const { parse, stringify } = JSON;
  const { apply, defineProperty } = Reflect;
  const { freeze, keys } = Object;
  const PromiseOf = Promise;
  const TypeErrorOf = TypeError;
  const { then } = Promise.prototype;
  const text = String;
  const waiting = { __proto__: null };
  let lastId = 0;
  let outcome = "";
  let tool;

  const { isFinite } = Number;
  const { isArray } = Array;
  const { forEach: forEachOf } = Map.prototype;
  const { forEach: forEachIn } = Set.prototype;
  const { defineProperty: define } = Object;
  const ErrorOf = Error, MapOf = Map, SetOf = Set;
  // What JSON has no form for, as it is written in a line of the log. \`within\` are the values around it.
  const written = (value, within) => {
    if (typeof value === "number") return isFinite(value) ? value : text(value);
    if (typeof value === "bigint") return text(value) + "n";
    if (typeof value !== "object" || value === null) return value;
    for (let at = within; at !== undefined; at = at.within) if (at.value === value) return "[circular]";
    const inner = { value, within };
    if (typeof value.toJSON === "function" && !(value instanceof ErrorOf)) return value;
    if (value instanceof MapOf) {
      const entries = [];
      apply(forEachOf, value, [(item, key) => { put(entries, entries.length, [written(key, inner), written(item, inner)]); }]);
      return put({}, "Map(" + entries.length + ")", entries);
    }
    if (value instanceof SetOf) {
      const items = [];
      apply(forEachIn, value, [(item) => { put(items, items.length, written(item, inner)); }]);
      return put({}, "Set(" + items.length + ")", items);
    }
    const copy = isArray(value) ? [] : {};
    if (value instanceof ErrorOf) {
      put(copy, "name", text(value.name));
      put(copy, "message", text(value.message));
      if (value.cause !== undefined) put(copy, "cause", written(value.cause, inner));
      if (value.errors !== undefined) put(copy, "errors", written(value.errors, inner));
    }
    const names = keys(value);
    for (let i = 0; i < names.length; i++) put(copy, names[i], written(value[names[i]], inner));
    return copy;
  };
  const put = (holder, name, value) =>
    define(holder, name, { value, enumerable: true, configurable: true, writable: true });
  // An error alone is its text, and what it has besides.
  const shown = (value) => {
    if (!(value instanceof ErrorOf)) {
      const plain = written(value, undefined);
      return typeof plain === "string" ? plain : stringify(plain);
    }
    const { name, message, ...others } = written(value, undefined);
    const besides = keys(others).length === 0 ? "" : " " + stringify(others);
    return name + (message === "" ? "" : ": " + message) + besides;
  };
  const readable = (value) => {
    try {
      const line = typeof value === "string" ? value : shown(value);
      return line === undefined ? text(value) : line;
    } catch {
      return "[unreadable]";
    }
  };
  const { cut, describe, where } = (${FAILURE_SOURCE})(readable);
  const fail = (thrown) => { outcome = describe(thrown); };
  const lossIn = (${LOSS_SOURCE})();
  // Writes a value. What JSON cannot hold is an error: it would be empty, or missing, in silence.
  const writtenOf = (value, before) => {
    if (value === undefined) return undefined;
    let written, failed;
    try { written = stringify(value); } catch (thrown) { failed = thrown; }
    const loss = lossIn(value, failed !== undefined);
    if (loss !== undefined) throw new TypeErrorOf(before + loss);
    if (failed !== undefined) throw failed;
    return written;
  };
  const finish = (value) => {
    try {
      const written = writtenOf(value, "Tool returned ");
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
    // More than a call may log.
    for (let i = 0; i < items.length && joined.length <= 262144; i++) joined += (i === 0 ? "" : " ") + cut(readable(items[i]));
    send('l["' + level + '",' + stringify(joined) + "]");
  };
  const levels = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
  const log = line("info");
  for (const level in levels) log[level] = levels[level];
  const console = { log, ...levels };
  defineProperty(globalThis, "console", { value: console, writable: true, configurable: true });

  const failure = (name, { code, message }) => {
    const thrown = name === "TypeError" ? new TypeErrorOf(message) : new Error(message);
    if (name !== "TypeError") thrown.name = name;
    thrown.code = code;
    return thrown;
  };
  // Sends an asynchronous request: the host passes the reply to \`settle\`.
  const ask = (kind, written, resolve, reject, errorName, bytes) => {
    const id = ++lastId;
    waiting[id] = { resolve, reject, errorName };
    const message = kind + "[" + id + "," + written + "]";
    if (bytes === undefined) send(message);
    else send(message, bytes);
  };
  const call = (name, input) => new PromiseOf((resolve, reject) => {
    const written = writtenOf(input === undefined ? {} : input, "The input of a tool is ");
    if (typeof name !== "string" || written === undefined) {
      throw new TypeError("tools.call takes the name of a tool and a JSON-serialisable input");
    }
    ask("c", stringify(name) + "," + stringify(written), resolve, reject, "ToolCallError");
  });

  const names = () => {
    const written = send("n");
    if (typeof written !== "string") {
      throw new TypeError("tools.names: the tool does not declare searchesTools, or may not call other tools");
    }
    return parse(written);
  };

  const hooks = { onStart: [], untilWake: undefined, wake: undefined };
  const kit = { send, ask, failure, log, console, hooks, need: (name) => need(name), isCalled: () => isCalled };
  const groups = { __proto__: null };
  const need = (name) => {
    if (groups[name] === undefined) groups[name] = group(name)(kit);
    return groups[name];
  };
  // A global whose group has not been evaluated evaluates it on first use.
  const lazy = (name, groupName) => {
    const define = (value) => { defineProperty(globalThis, name, { value, writable: true, configurable: true }); };
    if (groups[groupName] !== undefined) return define(groups[groupName][name]);
    const get = () => { const value = need(groupName)[name]; define(value); return value; };
    defineProperty(globalThis, name, { get, set: define, configurable: true });
  };
  defineProperty(globalThis, "self", { value: globalThis, writable: true, configurable: true });

  // The signal never aborts: a call that is cancelled or late ends with its whole heap.
  let signal;
  const context = freeze({
    tools: freeze({ call, names }),
    log: freeze(log),
    get fs() { return need("files"); },
    get signal() { return signal ??= new (need("events").AbortController)().signal; },
  });
  let isCalled = false;

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
    use: (groupNames, globals) => {
      const needed = parse(groupNames);
      for (let i = 0; i < needed.length; i++) need(needed[i]);
      const names = parse(globals);
      for (let i = 0; i < names.length; i++) lazy(names[i][0], names[i][1]);
      return "";
    },
    start: (input) => {
      outcome = "";
      isCalled = true;
      for (let i = 0; i < hooks.onStart.length; i++) hooks.onStart[i]();
      try { settle(tool(parse(input), context), finish); } catch (thrown) { fail(thrown); }
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
    // Runs the first timer, if it is due.
    wake: () => {
      if (hooks.wake !== undefined) hooks.wake();
      return outcome;
    },
    poll: () => {
      if (outcome !== "" || hooks.untilWake === undefined || !isCalled) return outcome;
      const ms = hooks.untilWake();
      return ms === undefined ? "" : "~" + ms;
    },
    where,
  };
}`;
