/**
 * HTML, section 8.6: timers. They belong to the call: the guest is suspended until the first one is due, and timers
 * that are left when the call ends do nothing. Nor do those that are set while a module is evaluated.
 */
export const TIMERS_SOURCE: string = `({ log, hooks, send }) => {
  const MOST = 10000;
  // The rest of the call's wall time, which stands still while a person is asked.
  const now = () => -send("r");
  const PromiseOf = Promise;
  const { then } = Promise.prototype;
  const { apply } = Reflect;
  // In the order in which they are due.
  let timers = [];
  let lastId = 0;
  hooks.onStart.push(() => { timers = []; });

  const insert = (timer) => {
    if (timers.length >= MOST) throw new RangeError("a call can have at most 10,000 timers at once");
    let index = timers.length;
    while (index > 0 && timers[index - 1].due > timer.due) index--;
    timers.splice(index, 0, timer);
  };
  const create = (name, callback, delay, args, repeats) => {
    if (typeof callback !== "function") throw new TypeError(name + " takes a function");
    const ms = Math.min(Math.max(Math.trunc(Number(delay)) || 0, 0), 2147483647);
    const id = ++lastId;
    insert({ id, due: now() + ms, every: repeats ? Math.max(ms, 1) : undefined, callback, args });
    return id;
  };
  const clear = (id) => { timers = timers.filter((timer) => timer.id !== Number(id)); };
  hooks.untilWake = () => timers.length === 0 ? undefined : Math.max(timers[0].due - now(), 0);
  hooks.wake = () => {
    if (timers.length === 0 || timers[0].due > now()) return;
    const timer = timers.shift();
    if (timer.every !== undefined) insert({ ...timer, due: Math.max(timer.due + timer.every, now()) });
    try { apply(timer.callback, undefined, timer.args); } catch (thrown) { log.error(thrown); }
  };
  return {
    setTimeout: (callback, delay, ...args) => create("setTimeout", callback, delay, args, false),
    setInterval: (callback, delay, ...args) => create("setInterval", callback, delay, args, true),
    clearTimeout: clear,
    clearInterval: clear,
    queueMicrotask(callback) {
      if (typeof callback !== "function") throw new TypeError("queueMicrotask takes a function");
      apply(then, PromiseOf.resolve(), [() => { try { callback(); } catch (thrown) { log.error(thrown); } }]);
    },
  };
}`;

/** Small interfaces: High Resolution Time with the resolution and the freezing of `Date`, `navigator`, `reportError`. */
export const GLOBAL_SOURCE: string = `({ log, hooks }) => {
  const { now } = Date;
  let origin = now();
  let last = 0;
  hooks.onStart.push(() => { origin = now(); last = 0; });
  class Performance {
    get timeOrigin() { return origin; }
    // The clock of the host may be set back.
    now() { return last = Math.max(last, now() - origin); }
    toJSON() { return { timeOrigin: origin }; }
    get [Symbol.toStringTag]() { return "Performance"; }
  }
  return {
    performance: new Performance(),
    navigator: Object.freeze({ userAgent: "Sandgate" }),
    reportError: (thrown) => { log.error(thrown); },
  };
}`;
