/** A group of the driver: `shown(value)` returns what a value that is no text looks like in a line of the log. */
export const LOG_VALUES_SOURCE: string = `() => {
  const { stringify } = JSON;
  const { apply } = Reflect;
  const { keys, defineProperty: define } = Object;
  const { isFinite } = Number;
  const { isArray } = Array;
  const { forEach: forEachOf } = Map.prototype;
  const { forEach: forEachIn } = Set.prototype;
  const text = String;
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
  // A single error is shown as its text and its further properties.
  const shown = (value) => {
    if (!(value instanceof ErrorOf)) {
      const plain = written(value, undefined);
      return typeof plain === "string" ? plain : stringify(plain);
    }
    const { name, message, ...others } = written(value, undefined);
    const besides = keys(others).length === 0 ? "" : " " + stringify(others);
    return name + (message === "" ? "" : ": " + message) + besides;
  };
  return { shown };
}`;

/** The part of `console` that the driver does not define at once. Lines go to the operator's log. */
export const CONSOLE_SOURCE: string = `({ log, console }) => {
  const { now } = Date;
  const counts = new Map();
  const timers = new Map();
  let indent = "";
  const elapsed = (label) => String(label) + ": " + (now() - timers.get(String(label))) + " ms";
  const group = (...items) => { if (items.length > 0) log.info(indent, ...items); indent += "  "; };
  const rowsOf = (data) => Object.entries(data).map(([key, row]) =>
    typeof row === "object" && row !== null ? { "(index)": key, ...row } : { "(index)": key, Values: row });
  return Object.assign(console, {
    assert: (condition, ...items) => { if (!condition) log.error("Assertion failed", ...items); },
    clear() {},
    count(label = "default") {
      counts.set(String(label), (counts.get(String(label)) ?? 0) + 1);
      log.info(label + ": " + counts.get(String(label)));
    },
    countReset(label = "default") { counts.delete(String(label)); },
    dir: (item) => { log.info(item); },
    dirxml: (...items) => { log.info(...items); },
    group,
    groupCollapsed: group,
    groupEnd() { indent = indent.slice(2); },
    table(data) {
      if (typeof data !== "object" || data === null) return log.info(data);
      for (const row of rowsOf(data)) log.info(row);
    },
    time(label = "default") { timers.set(String(label), now()); },
    timeEnd(label = "default") {
      if (timers.has(String(label))) log.info(elapsed(label));
      timers.delete(String(label));
    },
    timeLog(label = "default", ...items) { if (timers.has(String(label))) log.info(elapsed(label), ...items); },
    trace: (...items) => { log.debug("Trace:", ...items, new Error().stack); },
  });
}`;
