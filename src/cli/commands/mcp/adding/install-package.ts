import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { beginning } from "../../../../base/text.ts";
import { isJsonObject, type JsonValue } from "../../../../json/value.ts";
import {
  type InstalledPackage,
  installationOf,
  isInstalled,
  isPackageName,
  PackageProblem,
  packagesFolder,
  parsePackage,
} from "../../../config/server-package.ts";

/** A package as a runner such as `npx` is asked for it. */
export interface WantedPackage {
  readonly name: string;
  /** A version, a range or a tag. */
  readonly version: string;
  /** The program of the package to start; `undefined` for the runner's choice. */
  readonly bin: string | undefined;
  /** The arguments of that program. */
  readonly args: readonly string[];
}

/** How a package is installed. */
export interface InstallOptions {
  /** Whether scripts of packages run, unconfined, as `npm install` runs them. Default: `false`. */
  readonly scripts?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Commands that run a package of npm, as the words before the runner's options. */
const RUNNERS: readonly (readonly string[])[] = [
  ["npx"],
  ["bunx"],
  ["pnpx"],
  ["npm", "exec"],
  ["npm", "x"],
  ["pnpm", "dlx"],
  ["yarn", "dlx"],
  ["bun", "x"],
];

/** Options of runners that do not affect what runs. */
const IDLE = new Set([
  "-y",
  "--yes",
  "-q",
  "--quiet",
  "--silent",
  "--prefer-offline",
  "--prefer-online",
  "--",
]);

/** Runners of what is not an npm package, and what to do with their servers. */
const OTHERS: Readonly<Record<string, string>> = {
  uvx: "install the package in a virtual environment, and name its program as 'command', with the environment in 'fs'",
  uv: "install the package in a virtual environment, and name its program as 'command', with the environment in 'fs'",
  pipx: "install the package in a virtual environment, and name its program as 'command', with the environment in 'fs'",
  docker: "an engine would start the server outside of the sandbox, where nothing that is granted here holds",
  podman: "an engine would start the server outside of the sandbox, where nothing that is granted here holds",
  deno: "install Deno and the server's files, and name them as 'command', 'args' and 'fs'",
};

const MAX_TEXT = 1_000;

/**
 * Finds the package that a command of a package runner would run.
 *
 * @returns `undefined` if the command does not use a package runner.
 * @throws {PackageProblem} if it is one whose package cannot be resolved here. The message says what to do
 *   instead.
 */
export function wantedPackage(command: string, args: readonly string[]): WantedPackage | undefined {
  const program = basename(command).replace(/\.(?:cmd|exe)$/i, "");
  const instead = OTHERS[program];
  if (instead !== undefined)
    throw new PackageProblem(`servers are not started with '${program}' here: ${instead}`);
  const words = [program, ...args];
  const runner = RUNNERS.find((each) => each.every((word, index) => words[index] === word));
  if (runner === undefined) return undefined;
  let rest = words.slice(runner.length);
  let named: string | undefined;
  for (let [word = ""] = rest; word.startsWith("-"); [word = ""] = rest) {
    if (word === "-p" || word === "--package") {
      named = rest[1];
      rest = rest.slice(2);
    } else if (word.startsWith("--package=")) {
      named = word.slice("--package=".length);
      rest = rest.slice(1);
    } else if (IDLE.has(word)) rest = rest.slice(1);
    else throw new PackageProblem(`the option '${word}' of '${program}' is not known here: leave it out`);
  }
  const [first, ...own] = rest;
  const text = named ?? first;
  if (text === undefined || first === undefined) throw new PackageProblem(`'${program}' is given no package`);
  const at = text.lastIndexOf("@");
  const [name, version] = at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text, "latest"];
  if (!isPackageName(name) || !/^[\w.^~<>=|* -]+$/.test(version))
    throw new PackageProblem(`'${text}' is not a package of the registry: name one, such as 'NAME@VERSION'`);
  return { name, version, bin: named === undefined ? undefined : first, args: own };
}

/**
 * Installs a package with its dependencies in a folder of Sandgate's own, unless the version is already
 * installed: npm checks each package against its integrity, and no script of any of them runs. With scripts,
 * the version is installed anew, since nothing says whether they ran before.
 *
 * @throws {PackageProblem} if that fails, with the reason that npm gives.
 */
export async function installPackage(
  { name, version }: Pick<WantedPackage, "name" | "version">,
  { scripts = false, signal }: InstallOptions = {},
): Promise<InstalledPackage> {
  const exact = parsePackage(`npm:${name}@${version}`);
  if (exact !== undefined && !scripts && isInstalled(installationOf(exact))) return installationOf(exact);
  const folder = join(packagesFolder(), `.installing-${randomUUID()}`);
  const before = `${folder}-before`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await runNpm(folder, `${name}@${version}`, scripts, signal);
    const manifest = JSON.parse(
      readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"),
    ) as JsonValue;
    const resolved = parsePackage(`npm:${name}@${isJsonObject(manifest) ? String(manifest["version"]) : ""}`);
    if (resolved === undefined) throw new PackageProblem(`the package '${name}' does not say its version`);
    const installed = installationOf(resolved);
    if (scripts && isInstalled(installed)) await rename(installed.folder, before);
    if (!isInstalled(installed)) await rename(folder, installed.folder);
    return installed;
  } finally {
    for (const each of [folder, before]) await rm(each, { recursive: true, force: true });
  }
}

async function runNpm(
  folder: string,
  wanted: string,
  scripts: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const options = ["--save-exact", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  const args = [
    "install",
    "--prefix",
    folder,
    ...options,
    ...(scripts ? [] : ["--ignore-scripts"]),
    "--",
    wanted,
  ];
  const { command, before } = findNpm();
  const npm = spawn(command, [...before, ...args], {
    cwd: folder,
    // Settings for a global or a workspace's installation would make it write elsewhere.
    env: { ...process.env, npm_config_global: "false", npm_config_location: "project" },
    stdio: ["ignore", "ignore", "pipe"],
    ...(signal && { signal }),
  });
  let text = "";
  npm.stderr.on("data", (chunk: Buffer) => {
    text = beginning(text + chunk.toString(), MAX_TEXT);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    npm.once("error", reject);
    npm.once("close", resolve);
  }).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? "npm, which comes with Node.js, is not on the PATH" : error.message;
    throw new PackageProblem(`${wanted} cannot be installed: ${why}`);
  });
  if (code === 0) return;
  const lines = text.split("\n").map((line) => line.replace(/^npm (?:error|ERR!) ?/, "").trim());
  const reason = lines.find((line) => line !== "" && !/^(?:code|errno|syscall) /.test(line));
  throw new PackageProblem(
    `${wanted} cannot be installed: ${reason ?? `npm ended with the exit code ${code}`}`,
  );
}

/** npm beside this Node.js, which it then runs on; or else the one on the PATH. */
function findNpm(): { readonly command: string; readonly before: readonly string[] } {
  const beside = join(dirname(process.execPath), "../lib/node_modules/npm/bin/npm-cli.js");
  return existsSync(beside)
    ? { command: process.execPath, before: [beside] }
    : { command: "npm", before: [] };
}
