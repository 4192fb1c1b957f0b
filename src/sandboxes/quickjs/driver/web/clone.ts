/** HTML, section 2.7: `structuredClone`. Only array buffers can be transferred. */
export const CLONE_SOURCE: string = `({ need }) => {
  const { apply, getOwnPropertyDescriptor } = Reflect;
  const { DOMException } = need("errors");
  const getter = (prototype, name) => getOwnPropertyDescriptor(prototype, name).get;
  const sizeOfMap = getter(Map.prototype, "size"), sizeOfSet = getter(Set.prototype, "size");
  const bytesOfBuffer = getter(ArrayBuffer.prototype, "byteLength"), bufferOfView = getter(DataView.prototype, "buffer");
  const nameOfArray = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
  const { getTime } = Date.prototype;
  const { transfer: detach, slice } = ArrayBuffer.prototype;
  const PRIMITIVES = [Number, String, Boolean, BigInt].map((type) => type.prototype.valueOf);
  const ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, __proto__: null };
  const OPAQUE = [Promise, WeakMap, WeakSet, WeakRef, FinalizationRegistry, Symbol, AsyncIteratorOf(), Iterator];
  function AsyncIteratorOf() { return Object.getPrototypeOf(async function* () {}).constructor; }

  // Which kind of object it is, by its internal slots: a prototype can be anything.
  const SLOTS = [
    ["Map", (value) => apply(sizeOfMap, value, [])],
    ["Set", (value) => apply(sizeOfSet, value, [])],
    ["Date", (value) => apply(getTime, value, [])],
    ["ArrayBuffer", (value) => apply(bytesOfBuffer, value, [])],
    ["DataView", (value) => apply(bufferOfView, value, [])],
    ...PRIMITIVES.map((valueOf) => ["Primitive", (value) => apply(valueOf, value, [])]),
  ];
  const kindOf = (value) => {
    if (Array.isArray(value)) return "Array";
    if (apply(nameOfArray, value, []) !== undefined) return "TypedArray";
    if (Error.isError(value)) return "Error";
    if (value instanceof RegExp) return "RegExp";
    for (const [kind, read] of SLOTS) try { read(value); return kind; } catch {}
    return OPAQUE.some((type) => value instanceof type) ? "opaque" : "Object";
  };
  const refuse = (what) => { throw new DOMException(what + " could not be cloned", "DataCloneError"); };
  const hidden = (made, key, value) => Object.defineProperty(made, key, { value, writable: true, configurable: true });

  const structuredClone = (value, options = undefined) => {
    const transfer = [...(options?.transfer ?? [])];
    for (const each of transfer) {
      const isBuffer = typeof each === "object" && each !== null && kindOf(each) === "ArrayBuffer";
      if (!isBuffer) throw new DOMException("only an ArrayBuffer can be transferred", "DataCloneError");
      if (each.detached || transfer.indexOf(each) !== transfer.lastIndexOf(each)) refuse("an ArrayBuffer that is detached or transferred twice");
    }
    const known = new Map();
    const open = [];
    const clone = (each) => {
      if (typeof each === "symbol") refuse("a symbol");
      if (typeof each === "function") refuse("a function");
      if (typeof each !== "object" || each === null) return each;
      const before = known.get(each);
      if (before !== undefined) return before;
      const kind = kindOf(each);
      const made = make(each, kind);
      known.set(each, made);
      if (kind === "Error" && Object.hasOwn(each, "cause")) hidden(made, "cause", clone(each.cause));
      if (kind === "Map" || kind === "Set" || kind === "Array" || kind === "Object") open.push([each, made, kind]);
      return made;
    };
    const make = (each, kind) => {
      switch (kind) {
        case "Array": return new Array(each.length);
        case "Object": return {};
        case "Map": return new Map();
        case "Set": return new Set();
        case "Date": return new Date(apply(getTime, each, []));
        case "RegExp": return new RegExp(each.source, each.flags);
        case "Primitive": return Object(each.valueOf());
        case "Error": return cloneError(each);
        case "ArrayBuffer":
          if (each.detached) refuse("a detached ArrayBuffer");
          return apply(slice, each, [0]);
        case "TypedArray": return new globalThis[apply(nameOfArray, each, [])](clone(each.buffer), each.byteOffset, each.length);
        case "DataView": return new DataView(clone(each.buffer), each.byteOffset, each.byteLength);
        default: return refuse("an object of the type " + (each[Symbol.toStringTag] ?? "unknown"));
      }
    };
    const cloned = clone(value);
    while (open.length > 0) {
      const [each, made, kind] = open.pop();
      if (kind === "Map") for (const [key, content] of [...apply(Map.prototype.entries, each, [])]) made.set(clone(key), clone(content));
      else if (kind === "Set") for (const content of [...apply(Set.prototype.values, each, [])]) made.add(clone(content));
      else {
        for (const key of Object.keys(each)) {
          const content = clone(each[key]);
          Object.defineProperty(made, key, { value: content, writable: true, enumerable: true, configurable: true });
        }
      }
    }
    for (const each of transfer) apply(detach, each, []);
    return cloned;
  };
  const cloneError = (each) => {
    const message = getOwnPropertyDescriptor(each, "message");
    const text = message !== undefined && "value" in message ? String(message.value) : undefined;
    if (each instanceof DOMException) return new DOMException(text, each.name);
    const made = new (ERRORS[String(each.name)] ?? Error)(text);
    return hidden(made, "stack", String(each.stack));
  };
  return {
    structuredClone(value, options) {
      if (arguments.length === 0) throw new TypeError("structuredClone needs a value");
      return structuredClone(value, options);
    },
  };
}`;
