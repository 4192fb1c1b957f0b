import { isAbsolute, posix, resolve } from "node:path";

/** What the capability `fs` must be. */
export const FS_FORM =
  "capability 'fs' must be a list of { directory, at, write, writesProtected } or { file, within, at, write, writesProtected }";

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

/** Which protected places a grant opens to writing: some by their paths, or all. */
export type WritesProtected = true | readonly string[];

/** What a grant allows besides reading. */
export interface WriteMembers {
  readonly write?: true;
  readonly writesProtected?: WritesProtected;
}

/**
 * Returns the members of a grant that allow writing, without those that allow nothing.
 *
 * @throws {TypeError} if one of them is invalid, or the grant has other members.
 */
export function checkWrite(write: unknown, writesProtected: unknown, others: object): WriteMembers {
  if (typeof write !== "boolean" || Object.keys(others).length > 0) throw new TypeError(FS_FORM);
  if (writesProtected === undefined) return write ? { write } : {};
  const isList = Array.isArray(writesProtected) && writesProtected.every(isRelativePath);
  if (writesProtected !== true && !isList)
    throw new TypeError(
      "capability 'fs' must have 'writesProtected' as true or a list of relative paths such as '.vscode/settings.json'",
    );
  if (!write) throw new TypeError("capability 'fs' must have 'write' beside 'writesProtected'");
  return { write, writesProtected: isList ? Object.freeze([...(writesProtected as string[])]) : true };
}

function isRelativePath(path: unknown): path is string {
  return typeof path === "string" && /^[^/\0]+(\/[^/\0]+)*$/.test(path) && posix.normalize(path) === path;
}

/** Returns what two grants both allow besides reading. */
export function commonWrite(one: Partial<WriteMembersOf>, other: Partial<WriteMembersOf>): WriteMembers {
  if (!one.write || !other.write) return {};
  const [a, b] = [one.writesProtected, other.writesProtected];
  if (a === undefined || b === undefined) return { write: true };
  const common = a === true ? b : b === true ? a : a.filter((path) => b.includes(path));
  return { write: true, ...((common === true || common.length > 0) && { writesProtected: common }) };
}

interface WriteMembersOf {
  readonly write: boolean;
  readonly writesProtected: WritesProtected;
}
