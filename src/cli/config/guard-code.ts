import { readFileSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { guardFiles } from "../../base/guarded-files.ts";
import type { Tool } from "../../engine/tool.ts";
import type { LocatedPolicy } from "../../policy/file/located-policy.ts";
import { type FsGrant, isFileGrant } from "../../policy/grant/fs-grant.ts";
import { usedBy } from "../../policy/rule/rule.ts";

/** How many modules are followed from one that the config names. */
const MAX_MODULES = 1_000;

/** Longer modules are guarded, but not searched for imports. */
const MAX_MODULE_BYTES = 4 * 1_024 * 1_024;

/** A specifier of `import`, `export … from` and `require` that names a file beside the module. It may find too much. */
const SPECIFIER = /\b(?:from|import|require)\b\s*\(?\s*["'](\.{1,2}\/[^"'\n]+)["']/g;

/** What a specifier can leave out. */
const ENDINGS = ["", ".js", ".mjs", ".cjs", ".ts", ".mts", ".json", "/index.js", "/index.ts"];

/**
 * Guards a module, and the files that it imports by relative paths, with those that they import. Packages are not followed.
 *
 * @param path An absolute path. The module need not exist.
 */
export function guardModule(path: string): void {
  const known = new Set([path]);
  for (const module of known) {
    if (known.size > MAX_MODULES) break;
    for (const specifier of importsOf(module)) {
      const found = ENDINGS.map((ending) => resolve(dirname(module), `${specifier}${ending}`)).find(isFile);
      if (found !== undefined) known.add(found);
    }
  }
  guardFiles([...known].map((each) => ({ path: each, access: "read" })));
}

/**
 * Guards a program that this process starts, and those of its arguments that are files.
 *
 * @param command The program and its arguments, relative to the working directory.
 */
export function guardCommand([program = "", ...args]: readonly string[]): void {
  const onPath = program.includes("/") ? [] : (process.env["PATH"] ?? "").split(delimiter);
  guardExisting([...args, program].map((word) => resolve(word)));
  guardExisting(onPath.map((directory) => resolve(directory, program)).slice(0, MAX_MODULES));
}

/**
 * Guards a program that runs in the sandbox `process`, and those of its arguments that are files.
 *
 * @param words The program and its arguments, as the program sees them.
 * @param fs What the program sees, besides the system.
 * @param cwd Relative to the first directory of `fs`.
 */
export function guardConfined(words: readonly string[], fs: readonly FsGrant[] = [], cwd = "."): void {
  const first = fs.find((grant) => !isFileGrant(grant));
  guardExisting(
    words.flatMap((word) => {
      if (!isAbsolute(word))
        return first === undefined || isFileGrant(first) ? [] : [join(first.directory, cwd, word)];
      return [word, ...fs.flatMap((grant) => seenAt(word, grant))];
    }),
  );
}

/**
 * Guards the programs of tools, and those of their constant arguments that are files: also in the directories that a policy
 * grants, since a program begins in the first of them.
 */
export function guardPrograms(tools: readonly Tool[], policies: readonly LocatedPolicy[]): void {
  const uses = policies.flatMap((policy) => [...policy.rules.map(usedBy), policy.default]);
  const granted = uses
    .flatMap((use) => (use === undefined || use === "deny" ? [] : (use.capabilities?.fs ?? [])))
    .filter((grant) => "directory" in grant);
  for (const { process: program } of tools) {
    if (program === undefined || typeof program.args === "function") continue;
    const words = [program.command, ...(program.args ?? [])].filter((word) => typeof word === "string");
    const cwd = typeof program.cwd === "string" ? program.cwd : ".";
    guardConfined(words);
    for (const grant of granted) guardConfined(words, [grant], cwd);
  }
}

/** Returns the path of what a program sees at a path, if the grant shows it. */
function seenAt(path: string, grant: FsGrant): readonly string[] {
  const place = isFileGrant(grant) ? grant.file : grant.directory;
  const { at = "/" } = grant;
  // Without a place of its own, a directory is at `/workspace`, and a file in the root.
  const shown = at !== "/" ? at : isFileGrant(grant) ? `/${place.split("/").at(-1)}` : "/workspace";
  if (path === shown) return [place];
  return path.startsWith(`${shown}/`) ? [join(place, path.slice(shown.length + 1))] : [];
}

function guardExisting(paths: readonly string[]): void {
  for (const path of new Set(paths.filter(isFile))) {
    guardFiles([{ path, access: "read" }]);
    guardModule(realpathSync(path));
  }
}

function importsOf(path: string): readonly string[] {
  if (!/\.[cm]?[jt]sx?$/.test(path)) return [];
  try {
    if (statSync(path).size > MAX_MODULE_BYTES) return [];
    return Array.from(readFileSync(path, "utf8").matchAll(SPECIFIER), ([, specifier = ""]) => specifier);
  } catch {
    return [];
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
