import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type GuardedFile, guardFiles, guardWorkspaces } from "../../base/guarded-files.ts";
import { PACKAGE_FOLDER } from "../../base/package-folder.ts";
import type { Tool } from "../../engine/tool.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import type { LocatedPolicy } from "../../policy/file/checked-rule.ts";
import type { WorkspaceTemplate } from "../../policy/grant/execution-grant.ts";
import { type FsGrant, isFileGrant } from "../../policy/grant/fs-grant.ts";
import { usedBy } from "../../policy/rule/rule.ts";

/** Maximum number of packages that are followed from those that a module imports. */
const MAX_PACKAGES = 500;

const DEPENDENCIES = ["dependencies", "optionalDependencies", "peerDependencies"];

/** Maximum number of modules that are followed from one that the config names. */
const MAX_MODULES = 1_000;

/** Longer modules are guarded, but not searched for imports. */
const MAX_MODULE_BYTES = 4 * 1_024 * 1_024;

/** A specifier of `import`, `export … from` and `require`. It may over-match. */
const SPECIFIER = /\b(?:from|import|require)\b\s*\(?\s*["']([^"'\n]+)["']/g;

/** A specifier of a file beside the module; any other one names a package. */
const RELATIVE = /^\.{1,2}\//;

/** Separates the words of a command for a shell, of an option such as `--require=hook.js`, and of a variable. */
const BETWEEN_WORDS = /[\s=:;,&|<>(){}$"'`]+/;

/** Names of programs, unlike those of folders. */
const PROGRAM =
  /\.(?:[cm]?[jt]sx?|awk|bash|exs?|fish|jar|jq|lua|php|pl|ps1|py|pyz|rb|sed|sh|so|tcl|wasm|zsh)$/i;

/** Endings that a specifier can omit. */
const ENDINGS = ["", ".js", ".mjs", ".cjs", ".ts", ".mts", ".json", "/index.js", "/index.ts"];

/**
 * Guards a module, and the files and packages that it imports, with those that they import.
 *
 * @param path An absolute path. The module need not exist.
 */
export function guardModule(path: string): void {
  const modules = importedFrom(path);
  for (const module of modules)
    guardPackages(
      importsOf(module).filter((specifier) => !RELATIVE.test(specifier)),
      module,
    );
  guardFiles(modules.map(readOnly));
}

/** Returns a module and the files that it imports, with those that they import. */
function importedFrom(path: string): readonly string[] {
  const known = new Set([path]);
  for (const module of known) {
    if (known.size > MAX_MODULES) break;
    for (const specifier of importsOf(module).filter((each) => RELATIVE.test(each))) {
      const found = ENDINGS.map((ending) => resolve(dirname(module), `${specifier}${ending}`)).find(isFile);
      if (found !== undefined) known.add(found);
    }
  }
  return [...known];
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
  const paths = pathsOf(words, fs, cwd);
  guardExisting(paths);
  guardFiles(paths.filter(isMissingProgram).map(readOnly));
}

/** Returns where the words of a program can be files. */
function pathsOf(words: readonly string[], fs: readonly FsGrant[], cwd: string): readonly string[] {
  const first = fs.find((grant) => !isFileGrant(grant));
  return words.flatMap((word) => {
    if (isAbsolute(word)) return [word, ...fs.flatMap((grant) => seenAt(word, grant))];
    return first === undefined || isFileGrant(first) ? [] : [join(first.directory, cwd, word)];
  });
}

/** A program of a tool. */
interface Program {
  readonly words: readonly string[];
  readonly cwd: string;
}

/** Programs of tools, and the grants of workspaces that they can have: by their JSON. */
const inWorkspaces = new Map<string, { readonly program: Program; readonly grant: WorkspaceTemplate }>();

/**
 * Guards the programs of tools, and those of their constant arguments and variables that are files, including
 * those in the directories and workspaces that a policy grants, since a program begins in the first of them.
 */
export function guardPrograms(
  tools: readonly Tool<never, never>[],
  policies: readonly LocatedPolicy[],
): void {
  const uses = policies.flatMap((policy) => [...policy.rules.map(usedBy), policy.default]);
  const granted = uses.flatMap((use) =>
    use === undefined || use === "deny" ? [] : (use.capabilities?.fs ?? []),
  );
  for (const program of tools.flatMap(programOf)) {
    guardConfined(program.words);
    for (const grant of granted) {
      if ("directory" in grant) guardConfined(program.words, [grant], program.cwd);
      if ("workspace" in grant) inWorkspaces.set(JSON.stringify([program, grant]), { program, grant });
    }
  }
  if (inWorkspaces.size > 0) guardWorkspaces(programsIn);
}

function programOf({ process: program }: Tool<never, never>): readonly Program[] {
  if (program === undefined || typeof program.args === "function") return [];
  const { command, args = [], env = {}, cwd } = program;
  const words = [command, ...args, ...Object.values(env)].filter((word) => typeof word === "string");
  const all = new Set(words.flatMap((word) => [word, ...word.split(BETWEEN_WORDS)]));
  all.delete("");
  return [{ words: [...all], cwd: typeof cwd === "string" ? cwd : "." }];
}

/**
 * Returns the files that programs of tools run in a workspace, without packages: installing those is the work of an agent there.
 */
function programsIn(workspace: string): readonly GuardedFile[] {
  const paths = Array.from(inWorkspaces.values(), ({ program, grant }) => {
    const directory = grant.workspace === true ? workspace : join(workspace, grant.workspace);
    return pathsOf(program.words, [{ ...grant, directory }], program.cwd);
  }).flat();
  return [...new Set(paths)]
    .flatMap((path) =>
      isFile(path) ? [path, ...importedFrom(realpathSync(path))] : isMissingProgram(path) ? [path] : [],
    )
    .map(readOnly);
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
    guardFiles([readOnly(path)]);
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

function readOnly(path: string): GuardedFile {
  return { path, access: "read" };
}

/** Whether nothing is at a path at which only a program can be: whoever creates it chooses what a tool runs. */
function isMissingProgram(path: string): boolean {
  return PROGRAM.test(path) && lstatSync(path, { throwIfNoEntry: false }) === undefined;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Guards packages and those that they depend on, where they are installed.
 *
 * @param names The specifiers that name the packages.
 * @param from The path of a file from which they are resolved.
 */
function guardPackages(names: readonly string[], from: string): void {
  const folders = new Set(names.flatMap((name) => folderOf(name, from)));
  for (const folder of folders) {
    const file = join(folder, "package.json");
    for (const found of dependenciesIn(file).flatMap((name) => folderOf(name, file))) {
      if (folders.size < MAX_PACKAGES) folders.add(found);
    }
  }
  guardFiles([...folders].map((path) => ({ path, access: "read", isFolder: true })));
}

/** Guards the code that runs now: Sandgate's own, and that of the packages that it uses. */
export function guardOwnCode(): void {
  const folder = fileURLToPath(PACKAGE_FOLDER);
  const file = join(folder, "package.json");
  const own = ["package.json", "dist", "src", "node_modules"].map((name) => join(folder, name));
  guardFiles(own.map((path) => ({ path, access: "read", isFolder: true })));
  guardPackages(dependenciesIn(file), file);
}

/** Returns the folder of a package without links: package managers make them, and replace them. */
function folderOf(specifier: string, from: string): readonly string[] {
  try {
    const found = findPackageJSON(specifier, from);
    return found === undefined ? [] : [realpathSync(dirname(found))];
  } catch {
    // It is not installed, or part of Node.js.
    return [];
  }
}

function dependenciesIn(file: string): readonly string[] {
  try {
    const content = JSON.parse(readFileSync(file, "utf8")) as JsonValue;
    if (!isJsonObject(content)) return [];
    return DEPENDENCIES.flatMap((kind) => {
      const { [kind]: dependencies } = content;
      return isJsonObject(dependencies) ? Object.keys(dependencies) : [];
    });
  } catch {
    return [];
  }
}

/** Resolves a path of a config against the config's file, and leaves it relative if the file is. */
export function pathBeside(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** Resolves a path of a config to an absolute path. */
export function absolutePathBeside(file: string, path: string): string {
  return resolve(pathBeside(file, path));
}

/** Resolves the path of what runs, which no tool may change, to an absolute path. */
export function guardedPathBeside(file: string, path: string): string {
  const absolute = absolutePathBeside(file, path);
  guardFiles([{ path: absolute, access: "read", isFolder: true }]);
  guardModule(absolute);
  return absolute;
}
