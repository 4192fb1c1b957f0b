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
