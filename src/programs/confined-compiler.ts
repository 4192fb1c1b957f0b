import { realpathSync } from "node:fs";
import { realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { CollectedBytes } from "../base/collected-bytes.ts";
import { resolveDependency } from "../base/package-files.ts";
import { makeTemporaryDirectory } from "../base/temporary-directory.ts";
import { race } from "../base/timers.ts";
import type { ConfinedProgram } from "../sandboxes/process/long-running/running-program.ts";
import type { ProcessSandbox } from "../sandboxes/process/process-sandbox.ts";

const FIRST_VERSION = 7;

/** How long a program may be compiled, in ms: on an idle machine, it takes less than 100. */
const WALL_TIME_MS = 10_000;

/** The compiler reserves about half a GiB of addresses before it starts. */
const LIMITS = Object.freeze({ cpuMs: WALL_TIME_MS, processMemoryBytes: 1_536 * 1_024 * 1_024 });

/** The most that is read of what the compiler says, in bytes. */
const MAX_OUTPUT_BYTES = 256 * 1_024;

/** No file can name another one, and none is written. What a program catches are errors with `code` and `message`. */
const OPTIONS = [
  "--noEmit",
  "--noResolve",
  "--pretty",
  "false",
  "--types",
  "",
  "--skipLibCheck",
  "--target",
  "esnext",
  "--lib",
  "esnext,webworker",
  "--strict",
  "--noImplicitAny",
  "false",
  "--useUnknownInCatchVariables",
  "false",
  "--singleThreaded",
];

/** What the compiler said; or why it said nothing. */
export type CompilerEnd =
  | { readonly status: "checked"; readonly output: string }
  /** It ran out of time or memory. */
  | { readonly status: "exhausted" | "cancelled" };

/**
 * Runs TypeScript's compiler in the sandbox `process`, since the code that it reads is hostile: it has no network, sees no
 * other files, and ends when its time or memory is used up.
 */
export class ConfinedCompiler {
  /** Its absolute path. Its libraries are in the same folder. */
  readonly #compiler: string;
  #sandbox: Promise<ProcessSandbox> | undefined;

  /** @throws {TypeError} if TypeScript is not installed. */
  constructor() {
    this.#compiler = findCompiler();
  }

  /**
   * Checks the types in files, which see each other's global declarations.
   *
   * @param files The texts by their names.
   * @throws {ToolPreparationError} if programs cannot be confined here, or with these limits.
   */
  async check(
    files: Readonly<Record<string, string>>,
    signal: AbortSignal | undefined,
  ): Promise<CompilerEnd> {
    const folder = await realpath(makeTemporaryDirectory("types"));
    try {
      await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
      this.#sandbox ??= openSandbox();
      await using program = await (await this.#sandbox).start({
        command: this.#compiler,
        args: [...OPTIONS, ...Object.keys(files)],
        // At their own paths, since Landlock shows nothing anywhere else.
        fs: [folder, dirname(this.#compiler)].map((directory) => ({ directory, at: directory })),
        limits: LIMITS,
        warn: (text) => process.emitWarning(text, { code: "SANDGATE_CONFINEMENT" }),
      });
      return await endOf(program, signal);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Closes the sandbox. The next check opens another one. */
  async close(): Promise<void> {
    const opened = this.#sandbox;
    this.#sandbox = undefined;
    await (await opened?.catch(() => undefined))?.close();
  }
}

/** Loaded when it is needed: most processes check no types. */
async function openSandbox(): Promise<ProcessSandbox> {
  const { ProcessSandbox } = await import("../sandboxes/process/process-sandbox.ts");
  return ProcessSandbox.open(() => {
    throw new Error("the compiler has no network");
  });
}

/** The program is ended by its owner if it has not ended by then. */
async function endOf(program: ConfinedProgram, signal: AbortSignal | undefined): Promise<CompilerEnd> {
  program.stdin.on("error", () => {}).end();
  program.stderr.resume();
  const ending = Promise.all([textOf(program.stdout), program.ended]);
  const ended = await race(ending, { timeoutMs: WALL_TIME_MS, signals: [signal] });
  if (ended === "aborted") return { status: "cancelled" };
  if (ended === "timeout") return { status: "exhausted" };
  const [output, { code, hasBegun, problem }] = ended;
  if (!hasBegun) throw new Error(problem ?? "the compiler did not start");
  // 0: no errors, 1 and 2: errors.
  return code !== undefined && code <= 2 ? { status: "checked", output } : { status: "exhausted" };
}

/** Reads a stream to its end, and keeps its beginning. */
async function textOf(stream: Readable): Promise<string> {
  const read = new CollectedBytes();
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (read.length < MAX_OUTPUT_BYTES) read.add(chunk);
  }
  return read.read().subarray(0, MAX_OUTPUT_BYTES).toString();
}

/**
 * Returns the real path of the native compiler of the peer dependency `typescript`.
 *
 * @throws {TypeError} if it is not installed, or older than version 7, which is the first one with a native compiler.
 */
function findCompiler(): string {
  const install = "typeCheck needs TypeScript 7 or later: npm install typescript@7";
  let manifest: string;
  try {
    manifest = resolveDependency("typescript/package.json");
  } catch (cause) {
    throw new TypeError(`${install}. It is not installed`, { cause });
  }
  const require = createRequire(manifest);
  const { version } = require(manifest) as { readonly version: string };
  if (Number.parseInt(version, 10) < FIRST_VERSION)
    throw new TypeError(`${install}. Version ${version} is installed`);
  const native = `@typescript/typescript-${process.platform}-${process.arch}`;
  try {
    return realpathSync(join(dirname(require.resolve(`${native}/package.json`)), "lib/tsc"));
  } catch (cause) {
    throw new TypeError(`${install}. Its package for this platform, ${native}, is not installed`, { cause });
  }
}
