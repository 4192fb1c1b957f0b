/** Web IDL, section 2.8.1: `DOMException`. */
export const ERRORS_SOURCE: string = `() => {
  const CODES = {
    IndexSizeError: 1, HierarchyRequestError: 3, WrongDocumentError: 4, InvalidCharacterError: 5,
    NoModificationAllowedError: 7, NotFoundError: 8, NotSupportedError: 9, InUseAttributeError: 10,
    InvalidStateError: 11, SyntaxError: 12, InvalidModificationError: 13, NamespaceError: 14,
    InvalidAccessError: 15, TypeMismatchError: 17, SecurityError: 18, NetworkError: 19, AbortError: 20,
    URLMismatchError: 21, QuotaExceededError: 22, TimeoutError: 23, InvalidNodeTypeError: 24, DataCloneError: 25,
    __proto__: null,
  };
  class DOMException extends Error {
    #name;
    constructor(message = "", options = "Error") {
      super(message);
      const isText = typeof options !== "object" || options === null;
      this.#name = String(isText ? options : options.name ?? "Error");
      if (!isText && "cause" in options) this.cause = options.cause;
    }
    get name() { return this.#name; }
    get code() { return CODES[this.#name] ?? 0; }
    get [Symbol.toStringTag]() { return "DOMException"; }
  }
  for (const name in CODES) {
    const constant = name.replace(/Error$/, "").replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase() + "_ERR";
    for (const at of [DOMException, DOMException.prototype]) {
      Object.defineProperty(at, constant.replace("URLMISMATCH", "URL_MISMATCH"), { value: CODES[name], enumerable: true });
    }
  }
  return { DOMException };
}`;

/** What other groups need of the host: operations on text and bytes, and bytes of what a tool passes. */
export const HOST_SOURCE: string = `({ send, need }) => {
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  const { isView } = ArrayBuffer;
  const { slice } = ArrayBuffer.prototype;
  const Buffer = ArrayBuffer;
  const Bytes = Uint8Array;
  const bufferOf = ({ buffer, byteOffset, byteLength }) =>
    byteLength === buffer.byteLength ? buffer : apply(slice, buffer, [byteOffset, byteOffset + byteLength]);
  return {
    // Returns a value of JSON, or an ArrayBuffer unless it would be empty. The arguments are primitive.
    host(operation, args, bytes) {
      let message = 'w["' + operation + '"';
      for (let i = 0; i < args.length; i++) message += "," + stringify(args[i]);
      message += "]";
      const reply = bytes === undefined || bytes.byteLength === 0 ? send(message) : send(message, bufferOf(bytes));
      if (reply === undefined) throw new RangeError(operation + ": the call is out of memory or time");
      if (typeof reply !== "string") return reply;
      const { ok, error } = parse(reply);
      if (error === undefined) return ok;
      if (error.name === "TypeError") throw new TypeError(error.message);
      if (error.name === "RangeError") throw new RangeError(error.message);
      throw new (need("errors").DOMException)(error.message, error.name);
    },
    // A longer text crosses the border as bytes, or in pieces: the guest is not interrupted while the host works on it.
    PIECE: 65536,
    // As much as the host decodes at once. Each piece copies the text before it once more.
    BYTES_PIECE: 524288,
    bufferOf,
    bytesOf(source) {
      if (isView(source)) return new Bytes(source.buffer, source.byteOffset, source.byteLength);
      if (source instanceof Buffer) return new Bytes(source);
      throw new TypeError("the bytes must be an ArrayBuffer or a view of one");
    },
  };
}`;
