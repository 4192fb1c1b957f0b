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
