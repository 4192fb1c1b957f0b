/** The part of the driver that creates the context's `fs`: synchronous functions for files. */
export const FILES_SOURCE: string = `({ send, failure, need }) => {
  const { bytesOf, PIECE } = need("host");
  const { parse, stringify } = JSON;
  const { freeze } = Object;
  const Bytes = Uint8Array;

  const useFiles = (operation, path, argument = "", bytes = undefined) => {
    if (typeof path !== "string" || typeof argument !== "string") {
      throw new TypeError("fs." + operation + " takes only strings" + (bytes === null ? " and bytes" : ""));
    }
    const message = 's["' + operation + '",' + stringify(path) + "," + stringify(argument) + "]";
    const reply = bytes?.byteLength > 0 ? send(message, bytes) : send(message);
    if (reply === undefined) {
      throw failure("FsError", { code: "insufficient-memory", message: operation + ": the call is out of memory" });
    }
    if (typeof reply !== "string") return new Bytes(reply);
    const { ok, error } = parse(reply);
    if (error !== undefined) throw failure("FsError", error);
    return ok === null ? undefined : ok;
  };
  const write = (operation) => (path, content) => {
    const isLong = typeof content === "string" && content.length > PIECE;
    if (!isLong && (typeof content !== "object" || content === null)) return useFiles(operation, path, content === undefined ? null : content, null);
    const bytes = isLong ? new (need("encoding").TextEncoder)().encode(content) : bytesOf(content);
    return useFiles(operation, path, "", bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  };
  return freeze({
    readFile(path, encoding = "utf8") {
      if (encoding !== "utf8" && encoding !== "bytes") throw new TypeError("fs.readFile: the encoding is 'utf8' or 'bytes'");
      const content = useFiles("readFile", path, encoding);
      if (encoding === "bytes") return content === "" ? new Bytes(0) : content;
      // A long text.
      if (typeof content !== "string") return new (need("encoding").TextDecoder)("utf-8", { ignoreBOM: true }).decode(content);
      return content;
    },
    writeFile: write("writeFile"),
    appendFile: write("appendFile"),
    readdir: (path) => useFiles("readdir", path),
    stat: (path) => freeze(useFiles("stat", path)),
    mkdir: (path) => useFiles("mkdir", path),
    rm: (path) => useFiles("rm", path),
    rename: (from, to) => useFiles("rename", from, to === undefined ? null : to),
  });
}`;
