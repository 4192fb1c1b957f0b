import { lstatSync, readlinkSync } from "node:fs";
import { isAbsolute } from "node:path";
import { type AgentCapabilities, type FsCapability, pathOf } from "../../policy/agent-capabilities.ts";

/** Where a path of this machine leads. */
export interface CanonicalPath {
  /** Absolute, without links, `.` and `..`. Names at its end need not exist. */
  readonly path: string;
  readonly kind: "file" | "folder" | "absent";
}

/** The longest path in bytes, and the most links on the way, as on Linux (`path_resolution(7)`). */
const MAX_BYTES = 4_096;
const MAX_LINKS = 40;

/**
 * Resolves an absolute path name by name, as the system does, and follows each link. The result can be outdated at once:
 * whoever opens the path must enforce the grant again.
 *
 * @returns `undefined` if the path leads nowhere: it is not absolute, too long, passes through a file or a folder that is
 *   missing or cannot be read, or has too many links.
 */
export function canonicalPath(path: string): CanonicalPath | undefined {
  if (!path.startsWith("/") || path.includes("\0") || !path.isWellFormed()) return undefined;
  if (Buffer.byteLength(path) > MAX_BYTES) return undefined;
  try {
    return resolve(path);
  } catch {
    return undefined;
  }
}

function resolve(given: string): CanonicalPath | undefined {
  const left = namesOf(given).reverse();
  let at: string[] = [];
  let isFolder = true;
  for (let links = 0; ; ) {
    const name = left.pop();
    if (name === undefined) return { path: `/${at.join("/")}`, kind: isFolder ? "folder" : "file" };
    if (!isFolder) return undefined;
    if (name === "..") {
      at.pop();
      continue;
    }
    const path = `/${[...at, name].join("/")}`;
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) {
      // The system does not find what is behind a missing folder.
      if (left.includes("..")) return undefined;
      return { path: [path, ...left.reverse()].join("/"), kind: "absent" };
    }
    if (found.isSymbolicLink()) {
      if (++links > MAX_LINKS) return undefined;
      const target = readlinkSync(path);
      if (target.startsWith("/")) at = [];
      left.push(...namesOf(target).reverse());
    } else {
      at.push(name);
      isFolder = found.isDirectory();
    }
  }
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

/**
 * Resolves the links in the paths of capabilities: the kernel compares canonical paths. A path that does not exist yet
 * stays as it is.
 *
 * @throws {TypeError} if a path is not absolute, cannot be resolved, or is a file in place of a directory or the reverse.
 */
export function canonicalCapabilities(capabilities: AgentCapabilities): AgentCapabilities {
  const { fs } = capabilities;
  if (!Array.isArray(fs)) return capabilities;
  return { ...capabilities, fs: fs.map(canonicalCapability) };
}

function canonicalCapability(given: FsCapability): FsCapability {
  const path: unknown = pathOf(given);
  // Other forms are refused where all capabilities are checked.
  if (path === undefined) return given;
  if (typeof path !== "string" || !isAbsolute(path))
    throw new TypeError("the path of an fs capability must be absolute, such as /srv/data");
  const found = canonicalPath(path);
  if (found === undefined) throw new TypeError(`the path '${path}' of an fs capability cannot be resolved`);
  const isFile = "file" in given;
  if (found.kind === (isFile ? "folder" : "file")) {
    const [is, write] = isFile ? ["a directory", "directory"] : ["a file", "file"];
    throw new TypeError(`'${path}' of an fs capability is ${is}: write it as '${write}'`);
  }
  return isFile ? { ...given, file: found.path } : { ...given, directory: found.path };
}
