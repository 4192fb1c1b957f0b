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
    #stream; #kept = "";
    constructor() {
      const encoder = new TextEncoder();
      this.#stream = new TransformStream({
        transform: (chunk, controller) => {
          const text = this.#kept + String(chunk);
          // A surrogate may be the first half of a pair.
          const last = text.charCodeAt(text.length - 1);
          const end = last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
          this.#kept = text.slice(end);
          if (end > 0) controller.enqueue(encoder.encode(text.slice(0, end)));
        },
        flush: (controller) => { if (this.#kept !== "") controller.enqueue(encoder.encode(this.#kept)); },
      });
    }
    get encoding() { return "utf-8"; }
    get readable() { return this.#stream.readable; }
    get writable() { return this.#stream.writable; }
    get [Symbol.toStringTag]() { return "TextEncoderStream"; }
  }
  return { TextDecoderStream, TextEncoderStream };
}`;
