/** What ECMAScript 2026 has and the engine lacks: bytes as base64 and hex, and `Array.fromAsync`. */
export const ES2026_SOURCE: string = `() => {
  const { apply, construct, defineProperty } = Reflect;
  const Bytes = Uint8Array, TypeErrorOf = TypeError, SyntaxErrorOf = SyntaxError;
  const { slice, subarray } = Bytes.prototype;
  const { get: kindOf } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Bytes.prototype), Symbol.toStringTag);
  const { fromCharCode } = String;

  const checkBytes = (value) => {
    if (apply(kindOf, value, []) !== "Uint8Array") throw new TypeErrorOf("not a Uint8Array");
    return value;
  };
  const checkText = (value) => {
    if (typeof value !== "string") throw new TypeErrorOf("not a string");
    return value;
  };
  const optionsOf = (options) => {
    if (options === undefined) return {};
    if (options === null || typeof options !== "object" && typeof options !== "function") throw new TypeErrorOf("options are not an object");
    return options;
  };
  const oneOf = (value, first, ...others) => {
    if (value === undefined) return first;
    if (value !== first && !others.includes(value)) throw new TypeErrorOf("unknown option: use " + [first, ...others].join(", "));
    return value;
  };

  // Text is written piece by piece: an argument list has a bound.
  const PIECE = 8190;
  const textOf = (bytes, perPiece, write) => {
    let text = "";
    for (let start = 0; start < bytes.length; start += perPiece) {
      text += apply(fromCharCode, undefined, write(apply(subarray, bytes, [start, start + perPiece])));
    }
    return text;
  };

  const codesOf = (text) => new Bytes(Array.from(text, (each) => each.charCodeAt(0)));
  const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const ALPHABETS = { base64: codesOf(LETTERS + "+/"), base64url: codesOf(LETTERS + "-_") };
  const HEX = codesOf("0123456789abcdef");
  const valuesOf = (codes) => {
    const values = new Bytes(128).fill(255);
    for (let i = 0; i < codes.length; i++) values[codes[i]] = i;
    return values;
  };
  const VALUES = { base64: valuesOf(ALPHABETS.base64), base64url: valuesOf(ALPHABETS.base64url) };
  const HEX_VALUES = valuesOf(HEX);
  for (let i = 10; i < 16; i++) HEX_VALUES[HEX[i] - 32] = i;

  const toBase64 = (bytes, letters, omitPadding) => textOf(bytes, PIECE / 10 * 3, (piece) => {
    const codes = [];
    let end = 0;
    for (let i = 0; i < piece.length; i += 3) {
      const left = piece.length - i;
      const group = piece[i] << 16 | (left > 1 ? piece[i + 1] << 8 : 0) | (left > 2 ? piece[i + 2] : 0);
      codes[end++] = letters[group >> 18];
      codes[end++] = letters[group >> 12 & 63];
      if (left > 1) codes[end++] = letters[group >> 6 & 63]; else if (!omitPadding) codes[end++] = 61;
      if (left > 2) codes[end++] = letters[group & 63]; else if (!omitPadding) codes[end++] = 61;
    }
    return codes;
  });

  // ECMA-262, FromBase64: { read, written, error } of what fits into the bytes.
  const fromBase64 = (text, alphabet, last, bytes) => {
    const values = VALUES[alphabet];
    const room = bytes.length, { length } = text;
    let read = 0, written = 0, chunk = 0, count = 0, at = 0;
    const skip = () => {
      for (; at < length; at++) {
        const code = text.charCodeAt(at);
        if (code !== 32 && code !== 9 && code !== 10 && code !== 12 && code !== 13) return code;
      }
      return -1;
    };
    const ended = (error) => ({ read, written, error });
    const finish = (strict) => {
      const bits = count === 2 ? chunk & 15 : chunk & 3;
      if (strict && bits !== 0) return ended("bits remain in the last character");
      if (count === 2) bytes[written++] = chunk >> 4;
      else { bytes[written++] = chunk >> 10; bytes[written++] = chunk >> 2; }
      read = length;
      return ended();
    };
    if (room === 0) return ended();
    for (;;) {
      let code = at < length ? text.charCodeAt(at) : -1;
      if (code <= 32) code = skip();
      if (code === -1) {
        if (count === 0) { read = length; return ended(); }
        if (last === "stop-before-partial") return ended();
        if (last === "strict" || count === 1) return ended("the last group is not complete");
        return finish(false);
      }
      at++;
      if (code === 61) {
        if (count < 2) return ended("unexpected padding");
        code = skip();
        if (count === 2) {
          if (code === -1) return ended(last === "stop-before-partial" ? undefined : "padding is missing");
          if (code === 61) { at++; code = skip(); }
        }
        if (code !== -1) return ended("unexpected character after the padding");
        return finish(last === "strict");
      }
      const value = code < 128 ? values[code] : 255;
      if (value === 255) return ended("unexpected character");
      const left = room - written;
      if (left === 1 && count === 2 || left === 2 && count === 3) return ended();
      chunk = chunk << 6 | value;
      if (++count < 4) continue;
      bytes[written++] = chunk >> 16;
      bytes[written++] = chunk >> 8;
      bytes[written++] = chunk;
      chunk = count = 0;
      read = at;
      if (written === room) return ended();
    }
  };

  const fromHex = (text, bytes) => {
    if (text.length % 2 !== 0) return { read: 0, written: 0, error: "an odd number of characters" };
    const end = Math.min(bytes.length, text.length / 2);
    for (let at = 0; at < end; at++) {
      // Beyond the table, a value is undefined.
      const high = HEX_VALUES[text.charCodeAt(at * 2)], low = HEX_VALUES[text.charCodeAt(at * 2 + 1)];
      if (!(high < 16 && low < 16)) return { read: at * 2, written: at, error: "unexpected character" };
      bytes[at] = high << 4 | low;
    }
    return { read: end * 2, written: end };
  };

  const checked = ({ read, written, error }) => {
    if (error !== undefined) throw new SyntaxErrorOf(error);
    return { read, written };
  };
  const base64Options = (options) => {
    const given = optionsOf(options);
    return [oneOf(given.alphabet, "base64", "base64url"), oneOf(given.lastChunkHandling, "loose", "strict", "stop-before-partial")];
  };
  const add = (holder, methods) => {
    for (const name in methods) defineProperty(holder, name, { value: methods[name], writable: true, configurable: true });
  };
  add(Bytes, {
    fromBase64(text, options = undefined) {
      const chosen = base64Options((checkText(text), options));
      const bytes = new Bytes(Math.ceil(text.length / 4) * 3);
      return apply(slice, bytes, [0, checked(fromBase64(text, ...chosen, bytes)).written]);
    },
    fromHex(text) {
      const bytes = new Bytes(checkText(text).length >> 1);
      checked(fromHex(text, bytes));
      return bytes;
    },
  });
  add(Bytes.prototype, {
    toBase64(options = undefined) {
      const bytes = checkBytes(this), given = optionsOf(options);
      return toBase64(bytes, ALPHABETS[oneOf(given.alphabet, "base64", "base64url")], !!given.omitPadding);
    },
    toHex() {
      return textOf(checkBytes(this), PIECE / 2, (piece) => {
        const codes = [];
        for (let i = 0; i < piece.length; i++) {
          codes[i * 2] = HEX[piece[i] >> 4];
          codes[i * 2 + 1] = HEX[piece[i] & 15];
        }
        return codes;
      });
    },
    setFromBase64(text, options = undefined) {
      const bytes = checkBytes(this);
      const chosen = base64Options((checkText(text), options));
      return checked(fromBase64(text, ...chosen, bytes));
    },
    setFromHex(text) {
      const bytes = checkBytes(this);
      return checked(fromHex(checkText(text), bytes));
    },
  });

  const isConstructor = (value) => {
    try { construct(Object, [], value); return true; } catch { return false; }
  };
  const put = (holder, name, value) => {
    if (!defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true })) throw new TypeErrorOf("cannot define " + name);
  };
  add(Array, {
    async fromAsync(items, map = undefined, thisArg = undefined) {
      if (map !== undefined && typeof map !== "function") throw new TypeErrorOf("the second argument is not a function");
      const isMade = isConstructor(this);
      const own = items[Symbol.asyncIterator] ?? undefined;
      const iterate = own ?? items[Symbol.iterator] ?? undefined;
      let length = 0, made;
      const take = async (value) => put(made, length, map === undefined ? value : await apply(map, thisArg, [value, length]));
      if (iterate !== undefined) {
        made = isMade ? new this() : [];
        const source = { [own === undefined ? Symbol.iterator : Symbol.asyncIterator]: () => apply(iterate, items, []) };
        for await (const value of source) { await take(value); length++; }
      } else {
        const list = Object(items);
        const end = Math.min(Math.max(Math.trunc(Number(list.length)) || 0, 0), Number.MAX_SAFE_INTEGER);
        made = isMade ? new this(end) : new Array(end);
        for (; length < end; length++) await take(await list[length]);
      }
      made.length = length;
      return made;
    },
  });
  return {};
}`;
