/** Console, besides what the driver defines at once. Lines go to the operator's log. */
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
