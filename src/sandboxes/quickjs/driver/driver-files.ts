/**
 * The part of the driver that creates `fs`: synchronous functions for text files. It receives the function that sends
 * messages to the host, and the driver's function that creates errors.
 */
export const FILES_SOURCE: string = `(send, failure) => {
  const { parse, stringify } = JSON;
  const { freeze } = Object;

  const useFiles = (operation, path, argument = "") => {
    if (typeof path !== "string" || typeof argument !== "string") {
      throw new TypeError("fs." + operation + " takes only strings");
    }
    const reply = send('s["' + operation + '",' + stringify(path) + "," + stringify(argument) + "]");
    if (reply === undefined) {
      throw failure("FsError", { code: "insufficient-memory", message: operation + ": the call is out of memory" });
    }
    const { ok, error } = parse(reply);
    if (error !== undefined) throw failure("FsError", error);
    return ok === null ? undefined : ok;
  };
  return freeze({
    readFile: (path) => useFiles("readFile", path),
    writeFile: (path, content) => useFiles("writeFile", path, content === undefined ? null : content),
    appendFile: (path, content) => useFiles("appendFile", path, content === undefined ? null : content),
    readdir: (path) => useFiles("readdir", path),
    stat: (path) => freeze(useFiles("stat", path)),
    mkdir: (path) => useFiles("mkdir", path),
    rm: (path) => useFiles("rm", path),
    rename: (from, to) => useFiles("rename", from, to === undefined ? null : to),
  });
}`;
