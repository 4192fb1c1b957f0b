/**
 * The part of the driver that finds what JSON cannot hold, by the rule of `encodeOutput` (`sandboxes/contract/output.ts`).
 * `find(value)` returns `undefined`, or what is lost and where, such as `a Map at /a/0, which is not JSON-serialisable`. It
 * is called with `true` for values that `JSON.stringify` did not write, which may hold themselves. What has a `toJSON` decides for itself.
 */
export const LOSS_SOURCE: string = `() => {
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const { apply } = Reflect;
  const { keys: keysOf } = Object;
  const { toStringTag } = Symbol;
  const { isFinite } = Number;
  const text = String;
  const { test } = RegExp.prototype;
  const { replaceAll } = String.prototype;
  const { getTime } = Date.prototype;
  const DateOf = Date, BufferOf = ArrayBuffer, PromiseOf = Promise;
  const KINDS = [Map, Set, WeakMap, WeakSet, PromiseOf, RegExp, Error];
  const NAMES = ["a Map", "a Set", "a WeakMap", "a WeakSet", "a Promise", "a RegExp", "an Error"];
  const CLASS_NAME = /^[A-Z]\\w{0,40}$/;
  const VOWEL = /^[AEIO]/;

  const named = (name) => (apply(test, VOWEL, [name]) ? "an " : "a ") + name;
  const tagOf = (value) => {
    const tag = value[toStringTag];
    return typeof tag === "string" && apply(test, CLASS_NAME, [tag]) ? tag : "";
  };
  // What is lost of a value itself. Objects are looked into only if this is undefined.
  const lossOf = (value) => {
    switch (typeof value) {
      case "number": return isFinite(value) ? undefined : text(value);
      case "bigint": return "a BigInt";
      case "function": return "a function";
      case "symbol": return "a symbol";
      case "object": {
        if (value === null) return undefined;
        if (isView(value) || value instanceof BufferOf) return "bytes (" + named(tagOf(value) || "DataView") + ")";
        if (value instanceof DateOf) return isFinite(apply(getTime, value, [])) ? undefined : "an invalid Date";
        if (typeof value.toJSON === "function") return undefined;
        for (let i = 0; i < KINDS.length; i++) if (value instanceof KINDS[i]) return NAMES[i];
        const tag = tagOf(value);
        return tag !== "" && keysOf(value).length === 0 ? named(tag) : undefined;
      }
    }
  };
  const escaped = (key) => apply(replaceAll, apply(replaceAll, key, ["~", "~0"]), ["/", "~1"]);
  // The objects around a value, if it may hold itself.
  let around, depth = 0;
  const isAround = (value) => {
    for (let i = 0; i < depth; i++) if (around[i] === value) return true;
    return false;
  };
  const find = (value) => {
    const loss = lossOf(value);
    if (loss !== undefined) return { loss, place: "" };
    if (typeof value !== "object" || value === null || typeof value.toJSON === "function") return undefined;
    if (around === undefined) return look(value);
    if (isAround(value)) return { loss: "a circular reference", place: "" };
    around[depth++] = value;
    const found = look(value);
    depth--;
    return found;
  };
  const look = (value) => {
    if (isArray(value)) {
      for (let i = 0; i < value.length; i++) {
        const found = find(value[i]);
        if (found !== undefined) return { loss: found.loss, place: "/" + i + found.place };
      }
      return undefined;
    }
    const keys = keysOf(value);
    for (let i = 0; i < keys.length; i++) {
      const found = find(value[keys[i]]);
      if (found !== undefined) return { loss: found.loss, place: "/" + escaped(keys[i]) + found.place };
    }
    return undefined;
  };
  return (value, mayHoldItself) => {
    around = mayHoldItself ? { __proto__: null } : undefined;
    depth = 0;
    const found = find(value);
    if (found === undefined) return undefined;
    const { loss, place } = found;
    const at = place === "" || place.length > 200 ? "" : " at " + place;
    const hint = loss[0] === "b" && loss[1] === "y" ? ": encode bytes as text, such as base64" : "";
    return loss + at + ", which is not JSON-serialisable" + hint;
  };
}`;
