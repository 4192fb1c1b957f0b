import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { chmod, cp, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { PassThrough } from "node:stream";
import { promisify } from "node:util";
import { newTool } from "../../src/cli/commands/new-project.ts";

const ROOT = join(import.meta.dirname, "../..");
const CACHE = join(ROOT, "node_modules/.cache/sandgate-projects");
const run = promisify(execFile);

/** The languages of the projects that need to be installed or compiled for long. */
type Language = "javascript" | "c";

/** A project that was built, or the reason why it cannot be built on this machine. */
export type BuiltProject =
  | { readonly folder: string; readonly component: string }
  | { readonly missing: string };

/**
 * Creates a project with `sandgate tool new`, installs its dependencies, builds it and runs its tests. The result is
 * cached until the sources change.
 *
 * @param change Replaces the text of one file of the example.
 */
export async function builtProject(
  language: Language,
  change?: { readonly file: string; readonly text: string },
): Promise<BuiltProject> {
  const example = join(ROOT, `examples/wasm-tool-${language}`);
  const installed = await install(language, readFileSync(join(example, "package.json")));
  if (typeof installed !== "string") return installed;
  if (language === "c") {
    const reason = await whyNoCompiler(installed);
    if (reason !== undefined) return { missing: reason };
  }
  const folder = join(installed, digest([...sourcesOf(example), change?.text ?? ""]));
  const component = join(folder, "dist/tool.wasm");
  if (existsSync(component)) return { folder, component };
  // Inside the folder where npm installed the dependencies, so that they resolve. Several test files may build at once.
  const building = `${folder}.${process.pid}`;
  await rm(building, { recursive: true, force: true });
  const quiet = { stdin: process.stdin, stdout: new PassThrough(), stderr: new PassThrough() };
  const code = await newTool({ name: "tool new", directory: building, template: `wasm-${language}` }, quiet);
  if (code !== 0) throw new Error(String(quiet.stderr.read()));
  if (change !== undefined) await writeFile(join(building, change.file), change.text);
  const env = await projectEnvironment();
  // A changed tool fails the tests of the example.
  await run("npm", change === undefined ? ["test"] : ["run", "build"], { cwd: building, env });
  await rename(building, folder).catch(() => rm(building, { recursive: true, force: true }));
  return { folder, component };
}

/** Returns the environment of a project's scripts, in which the command `sandgate` runs the sources. */
export async function projectEnvironment(): Promise<NodeJS.ProcessEnv> {
  const folders = [await commandFolder(), join(ROOT, "node_modules/.bin"), process.env["PATH"]];
  return { ...process.env, PATH: folders.join(delimiter) };
}

/** Returns a folder with the command `sandgate`, which runs the sources. */
async function commandFolder(): Promise<string> {
  const folder = join(CACHE, "bin");
  const command = join(folder, `sandgate.${process.pid}`);
  await mkdir(folder, { recursive: true });
  const main = join(ROOT, "src/cli/main.ts");
  await writeFile(command, `#!/bin/sh\nexec "${process.execPath}" --no-warnings "${main}" "$@"\n`);
  await chmod(command, 0o755);
  await rename(command, join(folder, "sandgate"));
  return folder;
}

/** Installs the dependencies of an example's package.json once. Returns the folder that contains `node_modules`. */
async function install(language: Language, manifest: Buffer): Promise<string | { readonly missing: string }> {
  const folder = join(CACHE, `${language}-${digest([manifest])}`);
  if (existsSync(folder)) return folder;
  const installing = `${folder}.${process.pid}`;
  await mkdir(installing, { recursive: true });
  await cp(join(ROOT, `examples/wasm-tool-${language}/package.json`), join(installing, "package.json"));
  try {
    const options = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
    await run("npm", ["install", ...options], { cwd: installing });
  } catch (error) {
    await rm(installing, { recursive: true, force: true });
    return { missing: `npm cannot install the dependencies: ${firstLine(error)}` };
  }
  await rename(installing, folder).catch(() => rm(installing, { recursive: true, force: true }));
  return folder;
}

/** Compiles an empty file with the flags of a C project. Returns why that fails, if it does. */
async function whyNoCompiler(cwd: string): Promise<string | undefined> {
  const flags = [
    "--target=wasm32-wasi",
    "-mexec-model=reactor",
    "-x",
    "c",
    "-o",
    "nothing.wasm",
    "/dev/null",
  ];
  try {
    await run(process.env["CC"] ?? "clang", flags, { cwd });
    return undefined;
  } catch (error) {
    return `no C compiler for wasm32-wasi (apt-get install clang lld wasi-libc libclang-rt-dev-wasm32): ${firstLine(error)}`;
  }
}

function sourcesOf(example: string): readonly (Buffer | string)[] {
  const files = globSync(["*.*", "wit/*.wit"], { cwd: example }).sort();
  return files.flatMap((file) => [file, readFileSync(join(example, file))]);
}

function digest(parts: readonly (Buffer | string)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex").slice(0, 16);
}

function firstLine(error: unknown): string {
  return String(error).split("\n", 2).join(" ");
}
