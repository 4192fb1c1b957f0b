/**
 * The part of the driver that describes what was thrown, and where the guest is. It receives the driver's
 * function that converts any value to text. Its texts are built with loops over primitive values, like all
 * texts of the driver.
 *
 * - `describe(thrown)` returns `-` and `[name, message, stack, code, ...related]`. Each of `related` has an
 *   error of `cause` or `AggregateError.errors`, as text with its stack.
 * - `where()` returns the stack of whatever runs.
 */
const FAILURE_SOURCE: string = `(readable) => {
  const { stringify } = JSON;
  const ErrorOf = Error;
  const CUT = 8192;
  const RELATED = 8;
  const RELATED_CUT = 2048;

  const cut = (value, length) => {
    if (value.length <= length) return value;
    let start = "";
    for (let i = 0; i < length; i++) start += value[i];
    return start;
  };
  const isObject = (value) => typeof value === "object" && value !== null;
  const read = (object, key, length) => {
    try { const value = object[key]; return typeof value === "string" ? cut(value, length) : ""; } catch { return ""; }
  };
  const messageOf = (thrown, length) => {
    const said = isObject(thrown) ? read(thrown, "message", length) : "";
    if (said !== "") return said;
    return thrown === undefined || thrown === null ? "" : cut(readable(thrown), length);
  };

  const related = (thrown) => {
    const texts = [];
    const add = (label, error, depth) => {
      if (texts.length >= RELATED) return;
      const name = isObject(error) ? read(error, "name", 128) : "";
      const stack = isObject(error) ? read(error, "stack", RELATED_CUT) : "";
      texts[texts.length] = label + (name === "" ? "" : name + ": ") + messageOf(error, RELATED_CUT) + "\\n" + stack;
      follow(error, depth + 1);
    };
    const follow = (error, depth) => {
      if (!isObject(error) || depth > RELATED) return;
      let cause, errors, count = 0;
      try { cause = error.cause; } catch {}
      try { errors = error.errors; count = errors.length; } catch {}
      if (cause !== undefined) add("Caused by ", cause, depth);
      if (typeof count !== "number") return;
      for (let i = 0; i < count && texts.length < RELATED; i++) {
        let each;
        try { each = errors[i]; } catch {}
        add("Error " + (i + 1) + " of " + count + ": ", each, depth);
      }
    };
    follow(thrown, 0);
    return texts;
  };

  return {
    cut: (value) => cut(value, CUT),
    describe: (thrown) => {
      const name = isObject(thrown) ? read(thrown, "name", CUT) : "";
      const stack = isObject(thrown) ? read(thrown, "stack", CUT) : "";
      const code = isObject(thrown) ? read(thrown, "code", CUT) : "";
      const texts = related(thrown);
      let written = "-[" + stringify(name) + "," + stringify(messageOf(thrown, CUT)) + "," + stringify(stack) + "," + stringify(code);
      for (let i = 0; i < texts.length; i++) written += "," + stringify(texts[i]);
      return written + "]";
    },
    where: () => cut(new ErrorOf("").stack, RELATED_CUT),
  };
}`;

/** The name of the driver's code in stacks. */
export const DRIVER_NAME = "sandgate:driver";

/**
 * The only trusted code inside the guest's heap. It is evaluated before the tool and saves the original
 * intrinsics, so it works whatever the tool does to the globals. It communicates in text:
 *
 * - its functions return `""` as long as there is no outcome (or `~` and the milliseconds until its first
 *   timer is due), then `+` and the output as JSON, or `-` and `[name, message, stack, code, ...related]` of
 *   the failure
 * - it sends `c[id, name, input]` for a nested call, `f[id, method, url, headers, body, follow]` for an HTTP
 *   request, and `l[level, message]` for a log line
 * - it sends `n`, and receives the names of the tools that it can call, if the tool may list them
 * - it sends `s[operation, path, argument]` for a file operation and `w[operation, ...arguments]` for what a
 *   web API needs of the host, and receives `{ ok }` or `{ error }`, or bytes; `r` for the call's remaining
 *   wall time in ms
 *
 * Bytes are sent beside a message, as an `ArrayBuffer` that the host copies.
 *
 * Web APIs are in groups, which are evaluated on first use: `group(name)` returns a function of the driver's
 * functions. So are the parts of the driver that few calls need, because each call copies what the heap
 * contains.
 *
 * A guest cannot reach its internal functions by name. Nor does a message grant anything: the host checks
 * each request against the grant of the call. Messages are assembled from primitive values only, because
 * `JSON.stringify` calls `toJSON` on every object, and a guest can define one on `Object.prototype` or
 * `Array.prototype` that throws or returns a value of any size.
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

  const { getPrototypeOf, prototype: objectPrototype } = Object;
  const { isArray } = Array;
  const { toStringTag } = Symbol;
  const datePrototype = Date.prototype;
  const { getTime } = datePrototype;
  const readable = (value) => {
    try {
      const line = typeof value === "string" ? value : need("log-values").shown(value);
      return line === undefined ? text(value) : line;
    } catch {
      return "[unreadable]";
    }
  };
  const { cut, describe, where } = (${FAILURE_SOURCE})(readable);
  const fail = (thrown) => { outcome = describe(thrown); };
  // Whether JSON certainly represents a value. This walk is most of the work of the driver, so it is short.
  const isPlain = (value) => {
    const type = typeof value;
    if (type === "string" || type === "boolean" || value === null || value === undefined) return true;
    return type === "number" ? value - value === 0 : type === "object" && isPlainObject(value);
  };
  const isPlainObject = (object) => {
    const prototype = getPrototypeOf(object);
    if (prototype !== objectPrototype) {
      if (prototype === datePrototype) return isPlain(apply(getTime, object, []));
      if (!isArray(object)) return false;
      for (let i = 0; i < object.length; i++) if (!isPlain(object[i])) return false;
      return true;
    }
    let isEmpty = true;
    for (const name in object) {
      if (!isPlain(object[name])) return false;
      isEmpty = false;
    }
    // Math and its like are empty, too.
    return !isEmpty || object[toStringTag] === undefined;
  };
  // Writes a value. What JSON cannot represent is an error: it would silently be empty or missing.
  const writtenOf = (value, before) => {
    if (value === undefined) return undefined;
    let written, failed;
    try { written = stringify(value); } catch (thrown) { failed = thrown; }
    if (failed === undefined && isPlain(value)) return written;
    // Without memory or stack, there is nothing to look for. JSON says with a TypeError what it cannot write.
    if (failed !== undefined && !(failed instanceof TypeErrorOf)) throw failed;
    const loss = need("loss").lossIn(value, failed !== undefined);
    if (loss !== undefined) throw new TypeErrorOf(before + loss);
    if (failed !== undefined) throw failed;
    if (written === undefined) throw new TypeErrorOf(before + "a value that is not JSON-serialisable");
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
