import { createHash } from "node:crypto";
import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";

/** A version of a package of npm. */
export interface PackageVersion {
  readonly name: string;
  readonly version: string;
}

/** A package with an MCP server that is installed in a folder of Sandgate's own. */
export interface InstalledPackage extends PackageVersion {
  /** Has the package, its dependencies in `node_modules`, and `package-lock.json`. */
  readonly folder: string;
}

/** How the program of a package is started in the sandbox `process`. */
interface PackageProgram {
  readonly command: string;
  readonly script: string;
  /** What it has to see of this machine: the packages, and Node.js where that is none of the system's. */
  readonly fs: readonly FsGrant[];
}

/** What can be wrong with a package, for operators. */
export class PackageProblem extends Error {
  override readonly name = "PackageProblem";
}

/** How a package is written in a config. */
export const PACKAGE_FORM =
  "npm:NAME@VERSION with an exact version, such as 'npm:@modelcontextprotocol/server-memory@2026.8.31'";

const NAME = /^(?:@[\w~][\w.~-]*\/)?[\w~][\w.~-]*$/;
const VERSION = /^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]*)?$/;

/** Maximum number of files of an installation. */
const MAX_FILES = 200_000;

/** Files that are read at the same time. */
const AT_ONCE = 16;

/** What npm writes about an installation, with the addresses from which it came: no program reads it. */
const OF_NPM = ".package-lock.json";

/** Parses `npm:NAME@VERSION`; `undefined` if it is none. */
export function parsePackage(text: string): PackageVersion | undefined {
  const [, name = "", version = ""] = /^npm:(.+)@([^@]+)$/.exec(text) ?? [];
  return isPackageName(name) && VERSION.test(version) ? { name, version } : undefined;
}

/** Whether a name can be one of a package in the registry. */
export function isPackageName(name: string): boolean {
  return NAME.test(name) && name.length <= 214;
}

/** The folder with all installations: `sandgate/packages/npm` in `XDG_DATA_HOME`, or in `~/.local/share`. */
export function packagesFolder(): string {
  const configured = process.env["XDG_DATA_HOME"] ?? "";
  const data = isAbsolute(configured) ? configured : join(homedir(), ".local", "share");
  return join(data, "sandgate", "packages", "npm");
}

/** Returns where a version is installed, whether it is or not. */
export function installationOf({ name, version }: PackageVersion): InstalledPackage {
  return { name, version, folder: join(packagesFolder(), `${name.replace("/", "+")}@${version}`) };
}

/** Whether a version is installed. */
export function isInstalled({ folder }: InstalledPackage): boolean {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
}

/**
 * Finds a program of an installed package.
 *
 * @param bin The name of the program. Default: the only one, or the one that has the name of the package, as for `npx`.
 * @throws {PackageProblem} if there is no such program.
 */
export function programOf({ name, folder }: InstalledPackage, bin?: string): PackageProgram {
  const packages = realpathSync(join(folder, "node_modules"));
  const manifest = readManifest(join(packages, name, "package.json"));
  const programs = binsOf(name, manifest);
  const unscoped = name.slice(name.lastIndexOf("/") + 1);
  const chosen =
    bin ?? (programs.has(unscoped) ? unscoped : programs.size === 1 ? [...programs.keys()][0] : undefined);
  const path = programs.get(chosen ?? "");
  if (path === undefined) {
    const names = [...programs.keys()].map((each) => `'${each}'`).join(", ");
    const which = names === "" ? "it has no program" : `its programs are ${names}: name one with 'bin'`;
    throw new PackageProblem(`the package '${name}' has no program '${chosen ?? unscoped}': ${which}`);
  }
  const node = realpathSync(process.execPath);
  const isOfSystem = ["/usr/", "/bin/"].some((folder) => node.startsWith(folder));
  return {
    command: node,
    script: join(packages, name, path),
    fs: [{ directory: packages, at: packages }, ...(isOfSystem ? [] : [{ file: node, at: node } as const])],
  };
}

function binsOf(name: string, { bin }: JsonObject): ReadonlyMap<string, string> {
  if (typeof bin === "string") return new Map([[name.slice(name.lastIndexOf("/") + 1), bin]]);
  if (bin === undefined || !isJsonObject(bin)) return new Map();
  return new Map(
    Object.entries(bin).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function readManifest(file: string): JsonObject {
  try {
    const value = JSON.parse(readFileSync(file, "utf8")) as JsonValue;
    if (isJsonObject(value)) return value;
  } catch {}
  throw new PackageProblem(`${file} cannot be read: remove its installation, and install the package again`);
}

/**
 * Describes an installation as it is pinned: the integrity of the package, the versions of all packages that it depends on, and a
 * digest of all files, with their paths and whether they are executable.
 *
 * @throws {PackageProblem} if the files cannot be read.
 */
export async function describeInstallation({ name, version, folder }: InstalledPackage): Promise<JsonObject> {
  const { packages } = readManifest(join(folder, "package-lock.json"));
  const locked = Object.entries(isJsonObject(packages) ? packages : {}).filter(([path]) => path !== "");
  const versions = locked.map(([path, entry]): [string, JsonValue] => [
    path.replace(/^node_modules\//, ""),
    (isJsonObject(entry) ? entry["version"] : undefined) ?? null,
  ]);
  const own = locked.find(([path]) => path === `node_modules/${name}`)?.[1];
  return {
    package: `npm:${name}@${version}`,
    integrity: (isJsonObject(own) ? own["integrity"] : undefined) ?? null,
    versions: Object.fromEntries(versions),
    files: await digestOf(join(folder, "node_modules")),
  };
}

/** Digests all files below a folder. */
async function digestOf(folder: string): Promise<string> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    if (entries.length > MAX_FILES) throw new PackageProblem(`${folder} has more than ${MAX_FILES} files`);
    const files = entries
      .filter((entry) => !entry.isDirectory() && entry.name !== OF_NPM)
      .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
    const hash = createHash("sha256");
    for (let first = 0; first < files.length; first += AT_ONCE) {
      const lines = files.slice(first, first + AT_ONCE).map(async ({ entry, path }) => {
        const place = path.slice(folder.length);
        if (entry.isSymbolicLink()) return ["link", place, await readlink(path)];
        // A pipe would be read without end, and is in no package.
        if (!entry.isFile()) throw new PackageProblem(`${path} is not a file`);
        const { mode } = await stat(path);
        const content = createHash("sha256").update(await readFile(path));
        return [mode & 0o111 ? "program" : "file", place, content.digest("hex")];
      });
      for (const line of await Promise.all(lines)) hash.update(`${JSON.stringify(line)}\n`);
    }
    return hash.digest("hex");
  } catch (error) {
    if (error instanceof PackageProblem) throw error;
    throw new PackageProblem(`the files in ${folder} cannot be read: ${(error as Error).message}`);
  }
}
