/** The parts of ECMA-402 that the host's formatters can answer with text. */
export const INTL_SOURCE: string = `({ need }) => {
  const { host } = need("host");
  const { stringify } = JSON;
  const { apply } = Reflect;
  const { getTime } = Date.prototype;
  const numberValue = Number.prototype.valueOf, bigIntValue = BigInt.prototype.valueOf;
  const localesOf = (locales) => locales === undefined ? "[]" : stringify((typeof locales === "string" ? [locales] : [...locales]).map(String));
  const optionsOf = (options) => {
    const written = {};
    for (const key in options ?? {}) if (options[key] !== undefined) written[key] = typeof options[key] === "object" ? String(options[key]) : options[key];
    return stringify(written);
  };
  const ask = (kind, locales, options, method, ...args) => host("intl", [kind, locales, options, method, ...args]);
  // A number as text, and whether it is a BigInt.
  const numberOf = (value) => typeof value === "bigint" ? [String(value), true] : [typeof value === "string" ? value : Object.is(value, -0) ? "-0" : String(Number(value))];
  const timeOf = (value) => {
    const time = value === undefined ? Date.now() : typeof value === "object" && value !== null ? Number(value) : Number(value);
    if (!(Math.abs(time) <= 8.64e15)) throw new RangeError("Invalid time value");
    return time;
  };

  const formatter = (kind, methods) => {
    const made = class {
      #locales; #options;
      static { Object.defineProperty(this, "name", { value: kind }); }
      static supportedLocalesOf(locales) { return ask(kind, localesOf(locales), "{}", "supportedLocalesOf"); }
      constructor(locales, options) {
        if (new.target === undefined) throw new TypeError("Intl." + kind + " needs new");
        this.#locales = localesOf(locales);
        this.#options = optionsOf(options);
        ask(kind, this.#locales, this.#options, "resolvedOptions");
      }
      resolvedOptions() { return ask(kind, this.#locales, this.#options, "resolvedOptions"); }
      static {
        const use = (self, method, args) => ask(kind, self.#locales, self.#options, method, ...args);
        for (const method in methods) {
          const convert = methods[method];
          const isGetter = method === "format" && (kind === "NumberFormat" || kind === "DateTimeFormat") || method === "compare";
          const property = isGetter
            ? { get() { return (...args) => use(this, method, convert(...args)); } }
            : { value(...args) { return use(this, method, convert(...args)); }, writable: true };
          Object.defineProperty(this.prototype, method, { ...property, configurable: true });
        }
      }
      get [Symbol.toStringTag]() { return "Intl." + kind; }
    };
    // NumberFormat, DateTimeFormat and Collator can be called without new.
    if (kind === "PluralRules" || kind === "RelativeTimeFormat" || kind === "ListFormat") return made;
    return new Proxy(made, { apply: (target, self, args) => new made(...args) });
  };

  const numberMethods = { format: numberOf, formatToParts: numberOf };
  const date = { format: (value) => [timeOf(value)], formatToParts: (value) => [timeOf(value)],
    formatRange: (a, b) => [timeOf(a), timeOf(b)], formatRangeToParts: (a, b) => [timeOf(a), timeOf(b)] };
  const relative = (value, unit) => [Number(value), String(unit)];
  const list = (items) => [...items].map(String);
  const Intl = {
    NumberFormat: formatter("NumberFormat", numberMethods),
    DateTimeFormat: formatter("DateTimeFormat", date),
    PluralRules: formatter("PluralRules", { select: (value) => [Number(value)] }),
    RelativeTimeFormat: formatter("RelativeTimeFormat", { format: relative, formatToParts: relative }),
    ListFormat: formatter("ListFormat", { format: list, formatToParts: list }),
    Collator: formatter("Collator", { compare: (a, b) => [String(a), String(b)] }),
    getCanonicalLocales: (locales) => ask("Intl", localesOf(locales), "{}", "getCanonicalLocales"),
  };
  Object.defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });

  const dateText = (self, locales, options, needed, defaults) => {
    const time = apply(getTime, self, []);
    if (Number.isNaN(time)) return "Invalid Date";
    const given = options ?? {};
    const fields = { date: ["weekday", "year", "month", "day"], time: ["dayPeriod", "hour", "minute", "second", "fractionalSecondDigits"] };
    const has = needed.some((each) => fields[each].some((field) => given[field] !== undefined)) || given.dateStyle !== undefined || given.timeStyle !== undefined;
    const added = {};
    if (!has) for (const each of defaults) for (const field of each === "date" ? ["year", "month", "day"] : ["hour", "minute", "second"]) added[field] = "numeric";
    return ask("DateTimeFormat", localesOf(locales), optionsOf({ ...given, ...added }), "format", time);
  };
  const define = (prototype, methods) => {
    for (const name in methods) Object.defineProperty(prototype, name, { value: methods[name], writable: true, configurable: true });
  };
  const number = (value, locales, options) => ask("NumberFormat", localesOf(locales), optionsOf(options), "format", ...numberOf(value));
  define(Number.prototype, { toLocaleString(locales, options) { return number(apply(numberValue, this, []), locales, options); } });
  define(BigInt.prototype, { toLocaleString(locales, options) { return number(apply(bigIntValue, this, []), locales, options); } });
  define(Date.prototype, {
    toLocaleString(locales, options) { return dateText(this, locales, options, ["date", "time"], ["date", "time"]); },
    toLocaleDateString(locales, options) { return dateText(this, locales, options, ["date"], ["date"]); },
    toLocaleTimeString(locales, options) { return dateText(this, locales, options, ["time"], ["time"]); },
  });
  define(String.prototype, {
    localeCompare(that, locales, options) { return ask("Collator", localesOf(locales), optionsOf(options), "compare", String(this), String(that)); },
  });
  return { Intl };
}`;
