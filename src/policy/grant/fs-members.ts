import { isAbsolute, posix, resolve } from "node:path";

/** What the capability `fs` must be. */
export const FS_FORM =
  "capability 'fs' must be a list of { directory, at, write } or { file, within, at, write }";

/**
 * Returns a path on this machine in its normal form.
 *
 * @throws {TypeError} if it is not an absolute path.
 */
export function checkHostPath(member: string, path: unknown): string {
  if (typeof path !== "string" || !isAbsolute(path) || path.includes("\0") || !path.isWellFormed()) {
    throw new TypeError(`capability 'fs' must have an absolute path as each '${member}'`);
  }
  return resolve(path);
}

/** @throws {TypeError} if the path at which a tool sees something is not in its normal form. */
export function checkAt(at: unknown): string {
  if (typeof at === "string" && at.startsWith("/") && posix.normalize(at) === at && !at.includes("\0"))
    return at;
  throw new TypeError("capability 'fs' must have a normalized absolute path, such as '/data', as each 'at'");
}

/** @throws {TypeError} if `write` is not a boolean, or the grant has other members. */
export function checkWrite(write: unknown, others: object): boolean {
  if (typeof write !== "boolean" || Object.keys(others).length > 0) throw new TypeError(FS_FORM);
  return write;
}
