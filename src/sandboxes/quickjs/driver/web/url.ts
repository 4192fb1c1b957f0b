/** URL: the host parses a URL, and the guest a query. */
export const URL_SOURCE: string = `({ need }) => {
  const { host } = need("host");
  const NOTHING = {};
  const decodeText = decodeURIComponent;
  // The value of each digit, by the code of its character.
  const DIGIT = {};
  for (let value = 0; value < 16; value++) for (const digit of [value.toString(16), value.toString(16).toUpperCase()]) DIGIT[digit.charCodeAt(0)] = value;
  const written = (text) => encodeURIComponent(text).replace(/[!'()~]|%20/g, (each) =>
    each === "%20" ? "+" : "%" + each.charCodeAt(0).toString(16).toUpperCase());
  const textOf = (value) => String(value).toWellFormed();
  let link, reset;

  class URLSearchParams {
    #list = []; #onChange = undefined;
    static {
      link = (params, onChange) => { params.#onChange = onChange; return params; };
      reset = (params, query) => { params.#list = pairsIn(query); };
    }
    constructor(init = "") {
      if ((typeof init === "object" && init !== null) || typeof init === "function") {
        const iterate = init[Symbol.iterator];
        if (iterate !== undefined && iterate !== null) {
          for (const pair of init) {
            const [...both] = pair;
            if (both.length !== 2) throw new TypeError("URLSearchParams takes pairs of a name and a value");
            this.#list.push([textOf(both[0]), textOf(both[1])]);
          }
        } else {
          const members = new Map();
          for (const key of Reflect.ownKeys(init)) {
            if (!Object.prototype.propertyIsEnumerable.call(init, key)) continue;
            if (typeof key === "symbol") throw new TypeError("a name cannot be a symbol");
            members.set(textOf(key), textOf(init[key]));
          }
          this.#list = [...members];
        }
      } else {
        this.#list = pairsIn(textOf(init).replace(/^\\?/, ""));
      }
    }
    #changed() { this.#onChange?.(this.toString()); }
    get size() { return this.#list.length; }
    append(name, value) {
      requireArguments(arguments, 2);
      this.#list.push([textOf(name), textOf(value)]);
      this.#changed();
    }
    delete(name, value) {
      requireArguments(arguments, 1);
      const matches = match(name, value);
      this.#list = this.#list.filter((pair) => !matches(pair));
      this.#changed();
    }
    get(name) { requireArguments(arguments, 1); return this.#list.find(match(name))?.[1] ?? null; }
    getAll(name) { requireArguments(arguments, 1); return this.#list.filter(match(name)).map(([, value]) => value); }
    has(name, value) { requireArguments(arguments, 1); return this.#list.some(match(name, value)); }
    set(name, value) {
      requireArguments(arguments, 2);
      const matches = match(name);
      const pair = [textOf(name), textOf(value)];
      const first = this.#list.findIndex(matches);
      if (first < 0) this.#list.push(pair);
      else this.#list = this.#list.filter((each, index) => index <= first || !matches(each)).with(first, pair);
      this.#changed();
    }
    sort() {
      this.#list.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
      this.#changed();
    }
    forEach(visit, self) { for (const [name, value] of this) Reflect.apply(visit, self, [value, name, this]); }
    *entries() { for (let i = 0; i < this.#list.length; i++) yield [...this.#list[i]]; }
    *keys() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][0]; }
    *values() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][1]; }
    [Symbol.iterator]() { return this.entries(); }
    toString() {
      let text = "";
      for (const [name, value] of this.#list) text += (text === "" ? "" : "&") + written(name) + "=" + written(value);
      return text;
    }
    get [Symbol.toStringTag]() { return "URLSearchParams"; }
  }
  const requireArguments = ({ length }, count) => {
    if (length < count) throw new TypeError("URLSearchParams: " + count + " arguments are needed");
  };
  const match = (name, value) => {
    const wanted = textOf(name);
    const content = value === undefined ? undefined : textOf(value);
    return (pair) => pair[0] === wanted && (content === undefined || pair[1] === content);
  };
  // URL, section 5.1.
  const pairsIn = (query) => {
    const pairs = [];
    for (const part of query.split("&")) {
      if (part === "") continue;
      const end = part.indexOf("=");
      pairs[pairs.length] = end < 0 ? [decoded(part), ""] : [decoded(part.slice(0, end)), decoded(part.slice(end + 1))];
    }
    return pairs;
  };
  const decoded = (written) => {
    const text = written.includes("+") ? written.replaceAll("+", " ") : written;
    if (!text.includes("%")) return text;
    try { return decodeText(text); } catch { return decodedBytes(text); }
  };
  // URL, section 1.3, of a text with invalid escapes, or bytes that are not UTF-8.
  const decodedBytes = (text) => {
    const { TextDecoder, TextEncoder } = need("encoding");
    const bytes = new TextEncoder().encode(text);
    let size = 0;
    for (let at = 0; at < bytes.length; at++) {
      const isEscape = bytes[at] === 37 && DIGIT[bytes[at + 1]] >= 0 && DIGIT[bytes[at + 2]] >= 0;
      bytes[size++] = isEscape ? DIGIT[bytes[++at]] * 16 + DIGIT[bytes[++at]] : bytes[at];
    }
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, size));
  };

  class URL {
    #parts; #params = undefined;
    constructor(url, base = undefined, parts = undefined) {
      if (parts !== undefined && parts[0] === NOTHING) this.#parts = parts[1];
      else if (arguments.length === 0) throw new TypeError("URL needs a text");
      else this.#parts = host("url-parse", [textOf(url), base === undefined ? null : textOf(base)]);
      if (this.#parts === null) throw Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL" });
    }
    static parse(url, base) {
      const parts = host("url-parse", [textOf(url), base === undefined ? null : textOf(base)]);
      return parts === null ? null : new URL("", undefined, [NOTHING, parts]);
    }
    static canParse(url, base) { return URL.parse(url, base) !== null; }
    get searchParams() {
      this.#params ??= link(new URLSearchParams(this.search), (query) => { this.#write("search", query); });
      return this.#params;
    }
    #write(name, value) { this.#parts = host("url-set", [this.#parts.href, name, textOf(value)]) ?? this.#parts; }
    static {
      for (const name of ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"]) {
        Object.defineProperty(URL.prototype, name, {
          get() { return this.#parts[name]; },
          set: name === "origin" ? undefined : function (value) {
            if (name === "href") this.#parts = new URL(value).#parts;
            else this.#write(name, value);
            if ((name === "href" || name === "search") && this.#params !== undefined) reset(this.#params, this.search.slice(1));
          },
          enumerable: true,
          configurable: true,
        });
      }
    }
    toString() { return this.#parts.href; }
    toJSON() { return this.#parts.href; }
    get [Symbol.toStringTag]() { return "URL"; }
  }
  return { URL, URLSearchParams };
}`;
