import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join, resolve, sep } from "node:path";

/**
 * Returns a path with `~` as its first step replaced by the home directory, without `.`, `..` and further slashes.
 *
 * @throws {TypeError} unless the result is an absolute path.
 */
export function absolutePath(path: string, what: string): string {
  const expanded = path === "~" || path.startsWith(`~${sep}`) ? join(homedir(), path.slice(1)) : path;
  if (isAbsolute(expanded) && !expanded.includes("\0")) return resolve(expanded);
  throw new TypeError(`${what} must be an absolute path, or one that begins with ~${sep}`);
}

/** Returns a path with its links resolved, or `undefined` if it does not exist. */
export async function realPath(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    return undefined;
  }
}

/**
 * Whether a workspace is one of the trusted ones or below one of them. Links are resolved now, on both sides: a path
 * that does not exist is not trusted.
 *
 * @param real The workspace with its links resolved.
 */
export async function isTrusted(real: string | undefined, trusted: readonly string[]): Promise<boolean> {
  if (real === undefined) return false;
  for (const each of trusted) {
    const root = await realPath(each);
    if (root !== undefined && (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep))) {
      return true;
    }
  }
  return false;
}
