import { type FsGrant, isFileGrant } from "../policy/grant/fs-grant.ts";
import type { WritesProtected } from "../policy/grant/fs-members.ts";
import { namesIn } from "./paths/real-path.ts";
import { type ProtectedPlace, protectedPlace } from "./protected-places.ts";

/** How much of a path a grant names, and which protected places it opens. */
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
  if (place === undefined || writesProtected === undefined || place.isOwn) return place;
  if (writesProtected === true) return undefined;
  const below = path.slice(named.length).join("/");
  const isOpen = writesProtected.some(
    (open) => below === open || below.startsWith(`${open}/`) || (!isReplaced && open.startsWith(`${below}/`)),
  );
  return isOpen ? undefined : place;
}

/** Returns what a grant names, and which protected places it opens. */
export function protectionOf(grant: FsGrant): ProtectionGrant {
  const place = isFileGrant(grant) ? (grant.within ?? grant.file) : grant.directory;
  return { named: namesIn(place), writesProtected: grant.writesProtected };
}
