/**
 * A group of the driver: finds what JSON cannot represent, by the rule of `encodeOutput`
 * (`sandboxes/contract/output.ts`). `lossIn(value, mayHoldItself)` returns `undefined`, or what is lost and
 * where, such as `a Map at /a/0, which is not JSON-serialisable`. `mayHoldItself` is true for values that
 * `JSON.stringify` did not write. Of what has a `toJSON`, the value that this returns is looked at. Classes
 * that a tool has removed from the globals are not known.
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
  const DateOf = Date, BufferOf = ArrayBuffer, NumberOf = Number;
  const { valueOf } = NumberOf.prototype;
  const of = globalThis;
  const KINDS = [of.Map, of.Set, of.WeakMap, of.WeakSet, of.Promise, of.RegExp, of.Error];
  const NAMES = ["a Map", "a Set", "a WeakMap", "a WeakSet", "a Promise", "a RegExp", "an Error"];
  const FROM_ITERATOR = ": return Array.from(iterator)";
  const HINTS = {
    __proto__: null,
    "a Map": ": return Object.fromEntries(map), or a list of its entries",
    "a Set": ": return Array.from(set)",
    "an Error": ": return its message",
    "a Map Iterator": FROM_ITERATOR,
    "a Set Iterator": FROM_ITERATOR,
    "an Array Iterator": FROM_ITERATOR,
    "an Iterator Helper": FROM_ITERATOR,
    "a RegExp String Iterator": FROM_ITERATOR,
    "a Generator": FROM_ITERATOR,
  };
  const CLASS_NAME = /^[A-Z][\\w ]{0,40}$/;
  const VOWEL = /^[AEIO]/;

  const named = (name) => (apply(test, VOWEL, [name]) ? "an " : "a ") + name;
  const tagOf = (value) => {
    const tag = value[toStringTag];
    return typeof tag === "string" && apply(test, CLASS_NAME, [tag]) ? tag : "";
  };
  // What JSON writes of a value: what its \`toJSON\` returns, or the value itself.
  const writtenAs = (value, key) => {
    if ((typeof value !== "object" || value === null) && typeof value !== "bigint") return value;
    const { toJSON } = value;
    return typeof toJSON === "function" ? apply(toJSON, value, [key]) : value;
  };
  const isBytes = (value) => typeof value === "object" && value !== null && (isView(value) || value instanceof BufferOf);
  const isInvalidDate = (value) => value instanceof DateOf && !isFinite(apply(getTime, value, []));
  // What is lost of a value itself. Objects are looked into only if this is undefined.
  const lossOf = (own, value) => {
    if (isBytes(own)) return "bytes (" + named(tagOf(own) || "DataView") + ")";
    if (value === null && isInvalidDate(own)) return "an invalid Date";
    switch (typeof value) {
      case "number": return isFinite(value) ? undefined : text(value);
      case "bigint": return "a BigInt";
      case "function": return "a function";
      case "symbol": return "a symbol";
      case "object": {
        if (value === null) return undefined;
        for (let i = 0; i < KINDS.length; i++) {
          if (typeof KINDS[i] === "function" && value instanceof KINDS[i]) return NAMES[i];
        }
        if (value instanceof NumberOf) return lossOf(value, apply(valueOf, value, []));
        const tag = tagOf(value);
        return tag !== "" && keysOf(value).length === 0 ? named(tag) : undefined;
      }
    }
  };
  const escaped = (key) => apply(replaceAll, apply(replaceAll, key, ["~", "~0"]), ["/", "~1"]);
  // The objects around a value, if it may contain itself.
  let around, depth = 0;
  const isAround = (value) => {
    for (let i = 0; i < depth; i++) if (around[i] === value) return true;
    return false;
  };
  const find = (own, key) => {
    const value = writtenAs(own, key);
    const loss = lossOf(own, value);
    if (loss !== undefined) return { loss, place: "" };
    if (typeof value !== "object" || value === null) return undefined;
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
        const found = find(value[i], text(i));
        if (found !== undefined) return { loss: found.loss, place: "/" + i + found.place };
      }
      return undefined;
    }
    const keys = keysOf(value);
    for (let i = 0; i < keys.length; i++) {
      const found = find(value[keys[i]], keys[i]);
      if (found !== undefined) return { loss: found.loss, place: "/" + escaped(keys[i]) + found.place };
    }
    return undefined;
  };
  const lossIn = (value, mayHoldItself) => {
    around = mayHoldItself ? { __proto__: null } : undefined;
    depth = 0;
    const found = find(value, "");
    if (found === undefined) return undefined;
    const { loss, place } = found;
    const at = place === "" || place.length > 200 ? "" : " at " + place;
    const isOfBytes = loss[0] === "b" && loss[1] === "y";
    const hint = isOfBytes ? ": encode bytes as text, such as base64" : HINTS[loss] ?? "";
    return loss + at + ", which is not JSON-serialisable" + hint;
  };
  return { lossIn };
}`;
