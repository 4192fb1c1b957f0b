import { basename, isAbsolute, posix, resolve } from "node:path";

/**
 * One file that a tool may access, without its directory: no other file, and no listing. No part of the path may be a
 * link. With `write`, the tool may also create the file, but not remove or rename it.
 */
export interface FileGrant {
  /** Absolute path on this machine. */
  readonly file: string;
  /**
   * The directory above the file that the grant names, if the rest of the path came from elsewhere, such as an argument.
   * It must exist. Default: the grant names the file itself.
   */
  readonly within?: string;
  /** Path at which the tool sees the file. Default: the name of the file after `/`. */
  readonly at?: string;
  /** Whether the tool may also change the file. Default: false. */
  readonly write?: boolean;
  /** As for a directory: paths relative to `within`. Default: only the places that `within`, or else `file`, names. */
  readonly writesProtected?: WritesProtected;
}

/** What the capability `fs` must be. */
const FS_FORM =
  "capability 'fs' must be a list of { directory, at, write, writesProtected } or { file, within, at, write, writesProtected }";

/** Which protected places a grant opens to writing: some by their paths, or all. */
export type WritesProtected = true | readonly string[];

/** What a grant allows besides reading. */
interface WriteMembers {
  readonly write?: true;
  readonly writesProtected?: WritesProtected;
}

interface WriteMembersOf {
  readonly write: boolean;
  readonly writesProtected: WritesProtected;
}

/** A directory that a tool may access, with everything below it. */
export interface DirectoryGrant {
  /** Absolute path on this machine. The tool never sees it. */
  readonly directory: string;
  /** Path at which the tool sees the directory: absolute, with `/` between its segments. Default: `/`. */
  readonly at?: string;
  /** Whether the tool may also change the directory's contents. Default: false. */
  readonly write?: boolean;
  /**
   * Which protected places in the directory the tool may change as well, those that SECURITY.md lists: paths relative to
   * the directory, or `true` for all. Requires `write`. Default: only those that `directory` itself names.
   */
  readonly writesProtected?: WritesProtected;
}

/** A directory or a file that a tool may access. */
export type FsGrant = DirectoryGrant | FileGrant;

/** Whether a grant is for a single file. */
export function isFileGrant(grant: FsGrant): grant is FileGrant {
  return "file" in grant;
}

/**
 * Checks grants, and returns frozen copies with defaults filled in. A file that is granted twice at one path is
 * writable if one of the grants allows it.
 *
 * @throws {TypeError} if a grant is invalid, or if the tool would see two things at the same path, or files in a
 *   directory of which it has been granted another one.
 */
export function checkFsGrants(grants: unknown): readonly FsGrant[] {
  if (!Array.isArray(grants)) throw new TypeError(FS_FORM);
  const checked = mergeEqual(grants.map(checkFsGrant));
  const places = new Set(checked.map(({ at }) => at));
  if (places.size < checked.length) {
    throw new TypeError("capability 'fs' shows two things at the same path: give each a different 'at'");
  }
  for (const { at = "/" } of checked.filter(isFileGrant)) {
    const shown = checked.find((grant) => !isFileGrant(grant) && grant.at === posix.dirname(at));
    if (shown !== undefined) {
      throw new TypeError("capability 'fs' has a file in a granted directory: give it a different 'at'");
    }
  }
  return Object.freeze(checked);
}

function checkFsGrant(grant: unknown): FsGrant {
  if (typeof grant !== "object" || grant === null) throw new TypeError(FS_FORM);
  return isFileGrant(grant as FsGrant)
    ? checkFileGrant(grant as FileGrant)
    : checkDirectoryGrant(grant as DirectoryGrant);
}

/** Joins grants of the same file at the same path. */
function mergeEqual(grants: readonly FsGrant[]): FsGrant[] {
  const merged = new Map<string, FsGrant>();
  for (const grant of grants) {
    if (!isFileGrant(grant)) {
      merged.set(`directory ${merged.size}`, grant);
      continue;
    }
    const key = JSON.stringify([grant.file, grant.at]);
    const known = merged.get(key);
    if (known === undefined || !isFileGrant(known) || isMore(grant, known)) merged.set(key, grant);
  }
  return [...merged.values()];
}

/** Whether one of two grants of a file gives more than the other. A longer `within` names more of the path. */
function isMore(grant: FileGrant, other: FileGrant): boolean {
  if (grant.write !== other.write) return grant.write === true;
  return (grant.within ?? grant.file).length > (other.within ?? other.file).length;
}

/**
 * Returns what both sets grant, at the paths of `b`, and writable if both are. A directory below another one does not
 * count as granted by it, since a link may lie between them. A file does, since no link may lead to it.
 */
export function commonFsGrants(a: readonly FsGrant[], b: readonly FsGrant[]): readonly FsGrant[] {
  const checkedA = a.map(checkFsGrant);
  return mergeEqual(
    b.map(checkFsGrant).flatMap((grant) => {
      const common = checkedA.flatMap((other) => commonGrant(other, grant) ?? []);
      return isFileGrant(grant) ? common : withoutSurplus(common);
    }),
  );
}

/** Returns one grant of the directory if there is any: those of files in it, or of itself again, add nothing. */
function withoutSurplus(common: readonly FsGrant[]): readonly FsGrant[] {
  const directories = common.filter((grant) => !isFileGrant(grant));
  const [best = directories[0]] = directories.filter(({ write }) => write);
  return best === undefined ? common : [best];
}

/** Returns what two grants have in common, at the path of the other. */
function commonGrant(one: FsGrant, other: FsGrant): FsGrant | undefined {
  const write = commonWrite(one, other);
  if (isFileGrant(other)) {
    const { write: _, writesProtected: __, ...grant } = other;
    const isCommon = isFileGrant(one) ? one.file === grant.file : isBelow(grant.file, one.directory);
    return isCommon
      ? { ...narrowFile(grant, isFileGrant(one) ? one.within : one.directory), ...write }
      : undefined;
  }
  const { directory, at = "/" } = other;
  if (!isFileGrant(one)) return one.directory === directory ? { directory, at, ...write } : undefined;
  if (!isBelow(one.file, directory)) return undefined;
  const { file, within } = one;
  const grant = {
    file,
    ...(within !== undefined && { within }),
    at: posix.join(at, pathBelow(file, directory)),
  };
  return { ...narrowFile(grant, directory), ...write };
}

/** A grant names what both name: of two directories above the file, the one that is further above. */
function narrowFile(grant: FileGrant, within: string | undefined): FileGrant {
  if (within === undefined || (grant.within !== undefined && grant.within.length <= within.length))
    return grant;
  return { ...grant, within };
}

/**
 * Checks a grant, and returns a frozen copy with defaults filled in.
 *
 * @throws {TypeError} if it is invalid.
 */
function checkDirectoryGrant({
  directory,
  at = "/",
  write = false,
  writesProtected,
  ...others
}: DirectoryGrant): DirectoryGrant {
  const checked = { directory: checkHostPath("directory", directory), at: checkAt(at) };
  return Object.freeze({ ...checked, ...checkWrite(write, writesProtected, others) });
}

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
function commonWrite(one: Partial<WriteMembersOf>, other: Partial<WriteMembersOf>): WriteMembers {
  if (!one.write || !other.write) return {};
  const [a, b] = [one.writesProtected, other.writesProtected];
  if (a === undefined || b === undefined) return { write: true };
  const common = a === true ? b : b === true ? a : a.filter((path) => b.includes(path));
  return { write: true, ...((common === true || common.length > 0) && { writesProtected: common }) };
}

/**
 * Checks a grant, and returns a frozen copy with defaults filled in.
 *
 * @throws {TypeError} if it is invalid.
 */
function checkFileGrant({
  file,
  within,
  at,
  write = false,
  writesProtected,
  ...others
}: FileGrant): FileGrant {
  const outer = within === undefined ? undefined : checkHostPath("within", within);
  const path = checkHostPath("file", file);
  if (path === "/" || file.endsWith("/"))
    throw new TypeError("capability 'fs' must have the path of a file as each 'file'");
  if (outer !== undefined && !isBelow(path, outer)) {
    throw new TypeError("capability 'fs' must have each 'file' below its 'within'");
  }
  const place = checkAt(at ?? `/${basename(path)}`);
  if (place.endsWith("/"))
    throw new TypeError("capability 'fs' must have the path of a file as the 'at' of a file");
  return Object.freeze({
    file: path,
    ...(outer !== undefined && { within: outer }),
    at: place,
    ...checkWrite(write, writesProtected, others),
  });
}

/** Whether a path in its normal form is below a directory. */
export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory === "/" ? directory : `${directory}/`);
}

/** Returns a path below a directory, relative to it. */
function pathBelow(path: string, directory: string): string {
  return posix.relative(directory, path);
}
