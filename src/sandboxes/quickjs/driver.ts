/**
 * The only code of ours inside the guest's heap. It is evaluated before the tool, so that it holds the
 * intrinsics as they were; whatever the tool does to the globals afterwards, this keeps working. Text goes
 * in, text comes out: `+` and the output's JSON, or `-` and the failure's JSON.
 */
export const DRIVER_SOURCE: string = `(send) => {
  "use strict";
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  const then = Promise.prototype.then;
  const charge = String;
  const CUT = 8192;
  let outcome;

  const text = (value) => {
    try {
      const written = typeof value === "string" ? value : stringify(value);
      return written === undefined ? charge(value) : written;
    } catch {
      return "[unreadable]";
    }
  };
  const cut = (value) => { let s = ""; for (let i = 0; i < value.length && i < CUT; i++) s += value[i]; return s; };
  const read = (object, key) => { try { const v = object[key]; return typeof v === "string" ? cut(v) : ""; } catch { return ""; } };
  const describe = (thrown) => {
    const isObject = typeof thrown === "object" && thrown !== null;
    const message = isObject ? read(thrown, "message") || cut(text(thrown)) : thrown === undefined || thrown === null ? "" : cut(text(thrown));
    return "-" + stringify([isObject ? read(thrown, "name") : "", message, isObject ? read(thrown, "stack") : ""]);
  };
  const finish = (value) => {
    try {
      const written = stringify(value);
      if (written === undefined && value !== undefined) throw new TypeError("Tool returned a " + typeof value + ", which JSON cannot express");
      outcome = "+" + (written === undefined ? "null" : written);
    } catch (thrown) {
      outcome = describe(thrown);
    }
  };
  const fail = (thrown) => { outcome = describe(thrown); };
  // Only a true promise passes the intrinsic \`then\`; anything else is a value.
  const settle = (value, next) => {
    const go = (settled) => { try { next(settled); } catch (thrown) { fail(thrown); } };
    try { apply(then, value, [go, fail]); } catch { go(value); }
  };

  const line = (level) => (...items) => {
    let joined = "";
    for (let i = 0; i < items.length; i++) joined += (i === 0 ? "" : " ") + cut(text(items[i]));
    send(level, joined);
  };
  globalThis.console = { log: line("info"), info: line("info"), debug: line("debug"), warn: line("warn"), error: line("error") };

  return {
    describe,
    outcome: () => outcome,
    start: (module, name, input) => {
      settle(module, (namespace) => {
        const tool = namespace[name];
        if (typeof tool !== "function") throw new TypeError("the module has no exported function '" + name + "'");
        if (input === undefined) return finish(true);
        settle(tool(parse(input)), finish);
      });
    },
  };
}`;
