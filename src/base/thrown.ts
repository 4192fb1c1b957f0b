import { homedir, tmpdir } from "node:os";
import { basename } from "node:path";

/** What a tool threw, told to the model and to the operator. */
export interface ThrownText {
  /** The tool's own words, without stack and without this host's paths. */
  readonly message: string;
  /** Everything, for the operator. */
  readonly detail: string;
}

/** Describes whatever trusted code threw: errors, strings, nothing at all. Never throws. */
export function describeThrown(thrown: unknown): ThrownText {
  try {
    if (thrown instanceof Error) {
      const message = String(thrown.message);
      return { message: withoutHostPaths(message, pathsOf(thrown)), detail: String(thrown.stack ?? message) };
    }
    if (typeof thrown === "string") return { message: withoutHostPaths(thrown), detail: thrown };
    // Nothing says nothing, and neither do symbols and functions.
    const text = thrown === null ? "" : (JSON.stringify(thrown) ?? "");
    return { message: withoutHostPaths(text), detail: text };
  } catch {
    return { message: "", detail: "what was thrown cannot be read" };
  }
}

/** What Node.js itself says of a failed system call: `ENOENT: no such file or directory, open '/srv/x'`. */
function pathsOf(error: Error & { readonly path?: unknown; readonly dest?: unknown }): readonly string[] {
  return [error.path, error.dest].filter(
    (path) => typeof path === "string" && path.startsWith("/"),
  ) as string[];
}

/** The folders whose names tell about this machine; longest first, so that the most telling one goes. */
const HOST_FOLDERS: readonly string[] = [process.cwd(), homedir(), tmpdir()]
  .filter((folder) => folder.length > 1)
  .sort((a, b) => b.length - a.length);

/** Such a folder where it stands as one: not within another path, and not the beginning of another name. */
const HOST_FOLDER = new RegExp(
  `(?<![\\w./-])(?:file://)?(?:${HOST_FOLDERS.map((folder) => RegExp.escape(folder)).join("|")})(?:/|(?![\\w.-]))`,
  "g",
);

/**
 * Cuts this host's folders (working, home, temporary), and whole paths that are known, out of a text:
 * `open '/home/me/project/x'` says `open 'x'`.
 */
function withoutHostPaths(text: string, known: readonly string[] = []): string {
  const named = known.reduce((said, path) => said.replaceAll(path, basename(path)), text);
  return named.replace(HOST_FOLDER, (folder) => (folder.endsWith("/") ? "" : "."));
}
