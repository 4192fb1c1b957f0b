/** Encoding, section 7: streams that encode and decode. */
export const TEXT_STREAMS_SOURCE: string = `({ need }) => {
  const { TextDecoder, TextEncoder } = need("encoding");
  const { TransformStream } = need("streams");

  class TextDecoderStream {
    #decoder; #stream;
    constructor(label = "utf-8", options = {}) {
      const decoder = this.#decoder = new TextDecoder(label, options);
      const push = (text, controller) => { if (text !== "") controller.enqueue(text); };
      this.#stream = new TransformStream({
        transform: (chunk, controller) => push(decoder.decode(chunk, { stream: true }), controller),
        flush: (controller) => push(decoder.decode(), controller),
      });
    }
    get encoding() { return this.#decoder.encoding; }
    get fatal() { return this.#decoder.fatal; }
    get ignoreBOM() { return this.#decoder.ignoreBOM; }
    get readable() { return this.#stream.readable; }
    get writable() { return this.#stream.writable; }
    get [Symbol.toStringTag]() { return "TextDecoderStream"; }
  }

  class TextEncoderStream {
    #stream; #pending = "";
    constructor() {
      const encoder = new TextEncoder();
      this.#stream = new TransformStream({
        transform: (chunk, controller) => {
          const text = this.#pending + String(chunk);
          // A surrogate may be the first half of a pair.
          const last = text.charCodeAt(text.length - 1);
          const end = last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
          this.#pending = text.slice(end);
          if (end > 0) controller.enqueue(encoder.encode(text.slice(0, end)));
        },
        flush: (controller) => { if (this.#pending !== "") controller.enqueue(encoder.encode(this.#pending)); },
      });
    }
    get encoding() { return "utf-8"; }
    get readable() { return this.#stream.readable; }
    get writable() { return this.#stream.writable; }
    get [Symbol.toStringTag]() { return "TextEncoderStream"; }
  }
  return { TextDecoderStream, TextEncoderStream };
}`;

/**
 * Encoding, and HTML's `atob` and `btoa`. The host converts, piece by piece; incomplete characters of a
 * stream stay in the guest.
 */
export const ENCODING_SOURCE: string = `({ need }) => {
  const { host, bytesOf, PIECE, BYTES_PIECE } = need("host");
  const LABELS = {
    "utf-8": ["utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"],
    "utf-16le": ["utf-16le", "utf-16", "ucs-2", "unicode", "csunicode", "iso-10646-ucs-2", "unicodefeff"],
    "utf-16be": ["utf-16be", "unicodefffe"],
    "windows-1252": [
      "windows-1252", "latin1", "l1", "ascii", "us-ascii", "ansi_x3.4-1968", "cp1252", "cp819", "csisolatin1", "ibm819",
      "iso-8859-1", "iso-ir-100", "iso8859-1", "iso88591", "iso_8859-1", "iso_8859-1:1987", "x-cp1252",
    ],
  };
  const { slice, subarray, set } = Uint8Array.prototype;
  const { apply } = Reflect;
  const Bytes = Uint8Array;

  const encode = (text) => {
    if (text === "") return new Bytes(0);
    if (text.length <= PIECE) return new Bytes(host("encode", [text]));
    const pieces = [];
    let size = 0;
    for (let start = 0, end; start < text.length; start = end) {
      end = start + PIECE;
      const last = text.charCodeAt(end - 1);
      if (last >= 0xd800 && last <= 0xdbff) end--;
      const piece = new Bytes(host("encode", [text.slice(start, end)]));
      pieces.push(piece);
      size += piece.length;
    }
    const bytes = new Bytes(size);
    let at = 0;
    for (let i = 0; i < pieces.length; at += pieces[i++].length) apply(set, bytes, [pieces[i], at]);
    return bytes;
  };

  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(input = "") { return encode(String(input)); }
    encodeInto(source, destination) {
      if (!(destination instanceof Bytes)) throw new TypeError("encodeInto writes to a Uint8Array");
      // More characters than bytes never fit.
      const text = String(source).slice(0, destination.length + 1);
      const bytes = encode(text);
      if (bytes.length <= destination.length) {
        destination.set(bytes);
        return { read: text.length, written: bytes.length };
      }
      let end = destination.length;
      while (end > 0 && (bytes[end] & 0xc0) === 0x80) end--;
      const written = bytes.subarray(0, end);
      destination.set(written);
      return { read: decode("utf-8", false, true, written).length, written: end };
    }
    get [Symbol.toStringTag]() { return "TextEncoder"; }
  }

  const decode = (encoding, fatal, ignoreBOM, bytes) => {
    let text = "";
    for (let start = 0, end; start < bytes.length; start = end) {
      end = start + BYTES_PIECE;
      if (end < bytes.length) end -= incomplete(encoding, apply(subarray, bytes, [start, end]));
      text += host("decode", [encoding, fatal, ignoreBOM || start > 0], apply(subarray, bytes, [start, end]));
    }
    return text;
  };

  // How many bytes at the end are the beginning of a character.
  const incomplete = (encoding, bytes) => {
    const { length } = bytes;
    if (encoding === "windows-1252") return 0;
    if (encoding === "utf-8") {
      for (let back = 1; back <= 3 && back <= length; back++) {
        const byte = bytes[length - back];
        if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
        if (byte < 0x80) return 0;
      }
      return 0;
    }
    const odd = length % 2;
    const high = bytes[length - odd - (encoding === "utf-16le" ? 1 : 2)];
    return high >= 0xd8 && high <= 0xdb ? odd + 2 : odd;
  };

  class TextDecoder {
    #encoding; #fatal; #ignoreBOM; #pending = new Bytes(0); #hasBegun = false;
    constructor(label = "utf-8", options = {}) {
      const wanted = String(label).trim().toLowerCase();
      for (const name in LABELS) if (LABELS[name].includes(wanted)) this.#encoding = name;
      if (this.#encoding === undefined) {
        throw new RangeError("The encoding '" + label + "' is not supported: use utf-8, utf-16le, utf-16be or windows-1252");
      }
      this.#fatal = !!options?.fatal;
      this.#ignoreBOM = !!options?.ignoreBOM;
    }
    get encoding() { return this.#encoding; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(input, options = {}) {
      const stream = !!options?.stream;
      let bytes = input === undefined ? new Bytes(0) : bytesOf(input);
      if (this.#pending.length > 0) {
        const whole = new Bytes(this.#pending.length + bytes.length);
        apply(set, whole, [this.#pending]);
        apply(set, whole, [bytes, this.#pending.length]);
        bytes = whole;
      }
      const end = bytes.length - (stream ? incomplete(this.#encoding, bytes) : 0);
      this.#pending = apply(slice, bytes, [end]);
      const ignoreBOM = this.#ignoreBOM || this.#hasBegun;
      this.#hasBegun = stream && (this.#hasBegun || end > 0);
      return decode(this.#encoding, this.#fatal, ignoreBOM, apply(subarray, bytes, [0, end]));
    }
    get [Symbol.toStringTag]() { return "TextDecoder"; }
  }

  // HTML, section 8.3. All pieces but the last have the length of whole groups.
  const inPieces = (operation, text, size) => {
    let joined = "";
    for (let start = 0; start < text.length; start += size) joined += host(operation, [text.slice(start, start + size)]);
    return joined;
  };
  const btoa = (given) => {
    const text = String(given);
    return text.length <= PIECE ? host("btoa", [text]) : inPieces("btoa", text, 65535);
  };
  const atob = (given) => {
    const text = String(given);
    if (text.length <= PIECE) return host("atob", [text]);
    const data = text.replace(/[\\t\\n\\f\\r ]+/g, "");
    const end = data.indexOf("=");
    if (end >= 0 && (data.length % 4 !== 0 || end < data.length - 2)) {
      throw new (need("errors").DOMException)("The string to be decoded is not correctly encoded.", "InvalidCharacterError");
    }
    return inPieces("atob", data, PIECE);
  };
  return { TextEncoder, TextDecoder, atob, btoa };
}`;
