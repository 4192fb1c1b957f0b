import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { syscall, WorkspaceError } from "../../workspace/error.ts";
import { findEntry, readFile } from "../disk-entry.ts";
import type { WorkspacePlaces } from "../workspace-places.ts";
import { copyFile, entriesOf, MAX_BYTES, TooLargeError } from "./shadow-tree.ts";

/**
 * Settings for how files map to the index, and for the author of commits. None of them makes git run a
 * program.
 */
const COPIED_SETTINGS: ReadonlyMap<string, RegExp> = new Map([
  ["core.filemode", /^(true|false)$/i],
  ["core.symlinks", /^(true|false)$/i],
  ["core.autocrlf", /^(true|false|input)$/i],
  ["core.eol", /^(lf|crlf|native)$/i],
  // Without characters that have a meaning in configuration.
  ["user.name", /^[^\p{C}"\\;#]{1,200}$/u],
  ["user.email", /^[^\p{C}"\\;#]{1,200}$/u],
]);

const SECTION = /^\s*\[\s*([\w.-]+)[^\]]*\]/;

const SETTING = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/;

/**
 * The files of a repository other than its objects. References are copied first, so that the objects they
 * need exist.
 */
const FIRST = /^(HEAD|packed-refs|shallow|index|sharedindex\.[0-9a-f]+|info\/exclude|refs\/(?!stash$).+)$/;
const OBJECTS = /^objects\/.+/;

/** Files that refer to objects of other repositories. */
const ALTERNATES: readonly string[] = ["objects/info/alternates", "objects/info/http-alternates"];

/** The longest configuration that is read. */
const MAX_CONFIG_BYTES = 65_536;

/**
 * Gives the copy of a workspace a repository of its own: with the objects, the references and the index of
 * the workspace's, and a new configuration. Nothing that git runs is copied, such as hooks, and nothing is
 * shared. No program runs, and no link is followed.
 *
 * The copy gets no repository if the workspace is not the root of one, if its repository is elsewhere (as in
 * a worktree or a submodule), has objects elsewhere, uses an extension of the format, or is larger than
 * 100,000 files or 4 GiB.
 *
 * @param to The copy.
 * @returns whether the copy has one.
 */
export async function copyRepository(from: WorkspacePlaces, to: string): Promise<boolean> {
  const target = join(to, ".git");
  try {
    const config = await configOf(from);
    if (config === undefined || ALTERNATES.some((path) => from.exists(`.git/${path}`))) return false;
    syscall(() => mkdirSync(target));
    for (const path of ["objects", "refs"]) syscall(() => mkdirSync(join(target, path)));
    syscall(() => writeFileSync(join(target, "config"), config, { flag: "wx" }));
    let bytes = 0;
    for (const pattern of [FIRST, OBJECTS]) bytes = await copyMatching(from, target, pattern, bytes);
    return true;
  } catch (error) {
    // A repository that changes while it is copied, for example during a garbage collection, is not usable.
    if (!(error instanceof WorkspaceError || error instanceof TooLargeError)) throw error;
    rmSync(target, { recursive: true, force: true });
    return false;
  }
}

async function copyMatching(
  from: WorkspacePlaces,
  target: string,
  pattern: RegExp,
  before: number,
): Promise<number> {
  let bytes = before;
  for await (const [path, entry] of entriesOf(from, ".git")) {
    const name = path.slice(".git/".length);
    if (!entry.isFile() || !pattern.test(name) || name.endsWith(".lock")) continue;
    syscall(() => mkdirSync(dirname(join(target, name)), { recursive: true }));
    bytes += copyFile(from, path, join(target, name));
    if (bytes > MAX_BYTES) throw new TooLargeError("the repository has more than 4 GiB");
  }
  return bytes;
}

/** Returns the configuration for a copy; `undefined` if the repository cannot be copied. */
async function configOf(from: WorkspacePlaces): Promise<string | undefined> {
  if (findEntry(from, ".git").kind !== "directory") return undefined;
  const found = findEntry(from, ".git/config");
  if (found.kind !== "file" || found.stats.size > MAX_CONFIG_BYTES) return undefined;
  const chunks: Buffer[] = [];
  await readFile(from, ".git/config", (chunk) => chunks.push(chunk));
  return freshConfig(Buffer.concat(chunks).toString("utf8"));
}

/**
 * Returns a configuration for a copy of a repository, with its few harmless settings. It leaves out those by
 * which git runs programs, includes other files, or reaches remote repositories.
 *
 * @param text The configuration of the repository (git-config(1)).
 * @returns `undefined` if the repository has a format that not all versions of git support.
 */
export function freshConfig(text: string): string | undefined {
  const copied = new Map<string, string>();
  let section = "";
  for (const line of text.split("\n")) {
    const start = SECTION.exec(line);
    // A subsection, as in `[core "x"]`, is another section.
    if (start !== null) section = start[0].includes('"') ? "" : (start[1] as string).toLowerCase();
    if (start?.[1]?.toLowerCase() === "extensions") return undefined;
    const [, name = "", value = ""] = SETTING.exec(line.slice(start?.[0].length ?? 0)) ?? [];
    const key = `${section}.${name.toLowerCase()}`;
    if (key === "core.repositoryformatversion" && value !== "0") return undefined;
    if (COPIED_SETTINGS.get(key)?.test(value)) copied.set(key, value);
  }
  const lines = [...copied].map(([key, value]) => {
    const [of = "", name = ""] = key.split(".");
    return `[${of}]\n\t${name} = "${value}"\n`;
  });
  return `[core]\n\trepositoryformatversion = 0\n\tbare = false\n${lines.join("")}`;
}
