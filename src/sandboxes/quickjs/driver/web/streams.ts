import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { resolveDependency } from "../../../../base/package-files.ts";

/**
 * Where the build puts its copy of web-streams-polyfill: beside the file of QuickJS's thread. This code is in that file, and
 * in a chunk, for the build of the engine that suspended programs name.
 */
const COPIES = ["./web-streams.js", "../sandboxes/quickjs/thread/web-streams.js"];

/** Compression: the host compresses everything at the end of a stream, because it has no state for guests. */
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

/** Returns the path of web-streams-polyfill: of the copy in the package, or of the development dependency. */
export function webStreamsFile(): string {
  const copies = COPIES.map((copy) => fileURLToPath(new URL(copy, import.meta.url)));
  return copies.find((copy) => existsSync(copy)) ?? resolveDependency("web-streams-polyfill");
}
