import { posix } from "node:path";
import { checkDirectoryGrant, type DirectoryGrant } from "./directory-grant.ts";
import { checkFileGrant, type FileGrant, isBelow, pathBelow } from "./file-grant.ts";
import { commonWrite, FS_FORM } from "./fs-members.ts";

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
