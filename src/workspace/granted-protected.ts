import { type FsGrant, isFileGrant, type WritesProtected } from "../policy/grant/fs-grant.ts";
import { namesIn } from "./paths.ts";
import {
  completesRepository,
  isRepositoryFolder,
  isRunByGit,
  type ProtectedPlace,
  protectedPlace,
  REPOSITORY_PLACE,
} from "./protected-places.ts";

/** The part of a path that a grant names, and the protected places that it opens. */
export interface ProtectionGrant {
  /** The path that the grant names, by its names. */
  readonly named: readonly string[];
  readonly writesProtected?: WritesProtected | undefined;
}

/**
 * Returns the protected place that an entry belongs to, unless the grant opens it for writing.
 *
 * @param path The names from the root of the file system to the entry.
 * @param isReplaced As in {@link protectedPlace}.
 */
export function unopenedPlace(
  path: readonly string[],
  { named, writesProtected }: ProtectionGrant,
  isReplaced: boolean,
): ProtectedPlace | undefined {
  const place = protectedPlace(path, named.length, isReplaced);
  if (place === undefined || place.isOwn) return place;
  return opens({ named, writesProtected }, path, isReplaced) ? undefined : place;
}

/**
 * Returns the protected place of an entry that makes its folder a repository, or says what git runs in a
 * repository.
 *
 * @param path The names from the root of the file system to the entry.
 * @param exists Whether a path exists.
 */
export function repositoryPlace(
  path: readonly string[],
  grant: ProtectionGrant,
  exists: (path: readonly string[]) => boolean,
): ProtectedPlace | undefined {
  if (opens(grant, path, true)) return undefined;
  const existsIn = (folder: readonly string[]) => (name: string) => exists([...folder, name]);
  const beside = path.slice(0, -1);
  if (completesRepository(path.at(-1) ?? "", existsIn(beside)) && !exists(path)) return REPOSITORY_PLACE;
  for (const [index, name] of path.entries()) {
    const folder = path.slice(0, index);
    if (index < grant.named.length || !isRunByGit(name, folder.at(-1))) continue;
    if (isRepositoryFolder(existsIn(folder))) return REPOSITORY_PLACE;
  }
  return undefined;
}

/** Whether a grant opens the entry at a path. */
function opens(
  { named, writesProtected = [] }: ProtectionGrant,
  path: readonly string[],
  isReplaced: boolean,
): boolean {
  if (writesProtected === true) return true;
  const below = path.slice(named.length).join("/");
  return writesProtected.some(
    (open) => below === open || below.startsWith(`${open}/`) || (!isReplaced && open.startsWith(`${below}/`)),
  );
}

/** Returns what a grant names, and which protected places it opens. */
export function protectionOf(grant: FsGrant): ProtectionGrant {
  const place = isFileGrant(grant) ? (grant.within ?? grant.file) : grant.directory;
  return { named: namesIn(place), writesProtected: grant.writesProtected };
}
