/** Compression: the host compresses everything at the end of a stream, because it keeps no state of a guest. */
export const COMPRESSION_SOURCE: string = `({ need }) => {
  const { host, bytesOf } = need("host");
  const { TransformStream } = need("streams");
  const { Blob, bytesOfBlob } = need("blob");
  const Bytes = Uint8Array;
  const FORMATS = ["deflate", "deflate-raw", "gzip"];

  const streamClass = (name, operation) => class {
    #stream;
    static { Object.defineProperty(this, "name", { value: name }); }
    constructor(format) {
      if (!FORMATS.includes(String(format))) throw new TypeError(name + " supports deflate, deflate-raw and gzip");
      const chunks = [];
      this.#stream = new TransformStream({
        transform: (chunk) => { chunks.push(bytesOf(chunk).slice()); },
        flush: (controller) => {
          const bytes = bytesOfBlob(new Blob(chunks));
          const made = host(operation, [String(format)], bytes);
          if (made !== "") controller.enqueue(new Bytes(made));
        },
      });
    }
    get readable() { return this.#stream.readable; }
    get writable() { return this.#stream.writable; }
    get [Symbol.toStringTag]() { return name; }
  };
  return {
    CompressionStream: streamClass("CompressionStream", "compress"),
    DecompressionStream: streamClass("DecompressionStream", "decompress"),
  };
}`;
