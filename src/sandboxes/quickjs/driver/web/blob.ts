/** File API and `FormData`. */
export const BLOB_SOURCE: string = `({ need }) => {
  const { bytesOf } = need("host");
  const { TextEncoder, TextDecoder } = need("encoding");
  const Bytes = Uint8Array;
  const typeOf = (type) => { const text = String(type ?? ""); return /[^ -~]/.test(text) ? "" : text.toLowerCase(); };
  let bytesOfBlob;

  class Blob {
    #bytes; #type;
    static { bytesOfBlob = (blob) => blob.#bytes; }
    constructor(parts = [], options = {}) {
      if (typeof parts !== "object" || parts === null || parts[Symbol.iterator] === undefined) {
        throw new TypeError("Blob takes a list of parts");
      }
      const chunks = [];
      let size = 0;
      for (const part of parts) {
        const bytes = part instanceof Blob ? part.#bytes
          : typeof part === "object" && part !== null && (part instanceof ArrayBuffer || ArrayBuffer.isView(part)) ? bytesOf(part)
          : new TextEncoder().encode(options?.endings === "native" ? String(part).replace(/\\r\\n?/g, "\\n") : String(part));
        chunks.push(bytes);
        size += bytes.length;
      }
      this.#bytes = new Bytes(size);
      let offset = 0;
      for (const chunk of chunks) {
        this.#bytes.set(chunk, offset);
        offset += chunk.length;
      }
      this.#type = typeOf(options?.type);
    }
    get size() { return this.#bytes.length; }
    get type() { return this.#type; }
    async arrayBuffer() { return this.#bytes.slice().buffer; }
    async bytes() { return this.#bytes.slice(); }
    async text() { return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.#bytes); }
    slice(start = 0, end = this.size, type = "") {
      const blob = new Blob([], { type });
      blob.#bytes = this.#bytes.slice(start, end);
      return blob;
    }
    stream() {
      const bytes = this.#bytes.slice();
      return new (need("streams").ReadableStream)({
        start(controller) {
          if (bytes.length > 0) controller.enqueue(bytes);
          controller.close();
        },
      });
    }
    get [Symbol.toStringTag]() { return "Blob"; }
  }

  class File extends Blob {
    #name; #lastModified;
    constructor(parts, name, options = {}) {
      if (arguments.length < 2) throw new TypeError("File takes parts and a name");
      super(parts, options);
      this.#name = String(name).toWellFormed();
      this.#lastModified = Number(options?.lastModified ?? Date.now());
    }
    get name() { return this.#name; }
    get lastModified() { return this.#lastModified; }
    get [Symbol.toStringTag]() { return "File"; }
  }

  const valueOf = (value, filename) => {
    if (!(value instanceof Blob)) return String(value).toWellFormed();
    if (value instanceof File && filename === undefined) return value;
    return new File([value], filename ?? "blob", { type: value.type });
  };
  class FormData {
    #entries = [];
    append(name, value, filename) { this.#entries.push([String(name).toWellFormed(), valueOf(value, filename)]); }
    set(name, value, filename) {
      const entry = [String(name).toWellFormed(), valueOf(value, filename)];
      const first = this.#entries.findIndex(([each]) => each === entry[0]);
      if (first < 0) this.#entries.push(entry);
      else this.#entries = this.#entries.filter(([each], index) => index <= first || each !== entry[0]).with(first, entry);
    }
    get(name) { return this.#entries.find(([each]) => each === String(name))?.[1] ?? null; }
    getAll(name) { return this.#entries.filter(([each]) => each === String(name)).map(([, value]) => value); }
    has(name) { return this.#entries.some(([each]) => each === String(name)); }
    delete(name) { this.#entries = this.#entries.filter(([each]) => each !== String(name)); }
    forEach(visit, self) { for (const [name, value] of this) Reflect.apply(visit, self, [value, name, this]); }
    *entries() { for (let i = 0; i < this.#entries.length; i++) yield [...this.#entries[i]]; }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    get [Symbol.toStringTag]() { return "FormData"; }
  }

  // HTML, section 4.10.21.8: multipart/form-data.
  const escaped = (name) => name.replace(/\\r\\n?|\\n/g, "%0D%0A").replace(/"/g, "%22");
  const multipart = (form) => {
    let boundary = "----sandgate-form-";
    for (let i = 0; i < 3; i++) boundary += Math.random().toString(36).slice(2);
    const parts = [];
    for (const [name, value] of form) {
      const head = "--" + boundary + '\\r\\ncontent-disposition: form-data; name="' + escaped(name) + '"';
      if (typeof value === "string") parts.push(head + "\\r\\n\\r\\n" + value.replace(/\\r\\n?|\\n/g, "\\r\\n") + "\\r\\n");
      else {
        const type = value.type === "" ? "application/octet-stream" : value.type;
        parts.push(head + '; filename="' + escaped(value.name) + '"\\r\\ncontent-type: ' + type + "\\r\\n\\r\\n", value, "\\r\\n");
      }
    }
    parts.push("--" + boundary + "--\\r\\n");
    return { bytes: bytesOfBlob(new Blob(parts)), type: "multipart/form-data; boundary=" + boundary };
  };
  return { Blob, File, FormData, bytesOfBlob, multipart };
}`;
