import { realpathSync } from "node:fs";
import { realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { CollectedBytes } from "../base/collected-bytes.ts";
import { FairQueue } from "../base/fair-queue.ts";
import { resolveDependency } from "../base/package-files.ts";
import { makeTemporaryDirectory } from "../base/temporary-directory.ts";
import { beginning, UNPRINTABLE } from "../base/text.ts";
import { race } from "../base/timers.ts";
import type { ConfinedProgram } from "../sandboxes/process/long-running/running-program.ts";
import type { ProcessSandbox } from "../sandboxes/process/process-sandbox.ts";
import type { PreflightContext } from "../tool/tool-traits.ts";

const PROGRAM = "program.ts";

const DECLARATIONS = "declarations.d.ts";

/** The lines before those of the program, in its file. */
const LINES_BEFORE = 1;

/** The longest message of the compiler that is passed on, in UTF-16 code units. */
const MAX_MESSAGE_LENGTH = 400;

/** Maximum number of problems that are passed on. */
const MAX_PROBLEMS = 10;

/** A line about a problem of the program. */
const DIAGNOSTIC = /^program\.ts\((\d+),(\d+)\): error TS\d+: (.*)$/;

/** A function that is the whole program is called with `tools`, so that its parameter needs no type. */
const RUN = `declare function sandgateRun(program: (given: typeof tools) => unknown): unknown;
declare function sandgateRun(value: unknown): unknown;
`;

/** What is known of a program before its types are checked. */
interface TypedProgram {
  readonly code: string;
  /**
   * Whether it is an expression, without a semicolon at the end, and not the body of an asynchronous
   * function.
   */
  readonly isExpression: boolean;
  /** The declaration of `tools`, with the types of those that the program names. */
  readonly declarations: string;
}

/** Maximum number of compilers that run at once. */
const AT_ONCE = 2;

/** Maximum number of programs of one caller that wait for a compiler. */
const MAX_WAITING = 16;

interface QueuedCheck {
  readonly caller: string | undefined;
  readonly go: () => void;
}

/**
 * Queues programs for a compiler. Callers take turns, so that one caller's programs do not delay those of
 * another.
 */
export class CompilerTurns {
  readonly #waiting = new FairQueue<QueuedCheck>(({ caller }) => ({ principal: caller }));
  /** How many programs of each caller wait; no entry is zero. */
  readonly #counts = new Map<string | undefined, number>();
  #running = 0;

  /**
   * Compiles something when it is the caller's turn.
   *
   * @returns what `compile` returns; `undefined` if too many programs of the caller wait.
   */
  async run<Result>(caller: string | undefined, compile: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#running < AT_ONCE) this.#running++;
    else if ((this.#counts.get(caller) ?? 0) >= MAX_WAITING) return undefined;
    else await this.#turn(caller);
    try {
      return await compile();
    } finally {
      this.#next();
    }
  }

  #turn(caller: string | undefined): Promise<void> {
    this.#counts.set(caller, (this.#counts.get(caller) ?? 0) + 1);
    return new Promise((go) => this.#waiting.add({ caller, go }));
  }

  /** Lets the next program take the place of one that has been checked. */
  #next(): void {
    const next = this.#waiting.next();
    if (next === undefined) {
      this.#running--;
      return;
    }
    const { caller, go } = next;
    const left = (this.#counts.get(caller) ?? 1) - 1;
    if (left > 0) this.#counts.set(caller, left);
    else this.#counts.delete(caller);
    go();
  }
}

/** Checks the types of programs that are written in TypeScript. */
export interface ProgramTypes {
  readonly checker: TypeChecker;
  /** Returns the declaration of `tools` with these, whose names exist. Any other name is a tool of any type. */
  readonly declare: (names: readonly string[]) => string;
}

/** Checks the types of programs with TypeScript's compiler. */
export class TypeChecker {
  readonly #compiler: ConfinedCompiler;
  readonly #turns = new CompilerTurns();

  /** @throws {TypeError} if TypeScript 7 is not installed. */
  constructor() {
    this.#compiler = new ConfinedCompiler();
  }

  /**
   * Returns what is wrong with a program, as `/code line:column: message`.
   *
   * @throws if the types cannot be checked here. The message says why, for operators.
   */
  async problemsOf(
    program: TypedProgram,
    { principal, signal }: Pick<PreflightContext, "principal" | "signal">,
  ): Promise<readonly string[]> {
    const problems = await this.#turns.run(principal?.id, () => this.#check(program, signal));
    return problems ?? ["/code types cannot be checked while so many other programs are: run it again later"];
  }

  async #check(program: TypedProgram, signal: AbortSignal | undefined): Promise<readonly string[]> {
    if (signal?.aborted === true) return [];
    const end = await this.#compiler.check(filesOf(program), signal);
    switch (end.status) {
      case "checked":
        return readDiagnostics(end.output);
      case "cancelled":
        return [];
      case "exhausted":
        return ["/code types take too much time or memory to check: use simpler types, or language 'js'"];
    }
  }

  /** Releases the resources that are reused between checks. The next check opens them again. */
  async close(): Promise<void> {
    await this.#compiler.close();
  }
}

/** Returns the files for the compiler, by their names. */
function filesOf({ code, isExpression, declarations }: TypedProgram): Readonly<Record<string, string>> {
  const program = isExpression
    ? `(async () => sandgateRun(\n${code}\n))();\n`
    : `(async () => {\n${code}\n})();\n`;
  return { [PROGRAM]: program, [DECLARATIONS]: declarations + RUN };
}

/**
 * Reads the compiler's output, and returns the first problems of the program as `/code line:column: message`.
 *
 * @param output Its last line is ignored unless it ends: what the compiler says is cut when it is too long.
 * @throws {Error} if the output is about anything else, such as its options.
 */
export function readDiagnostics(output: string): readonly string[] {
  const problems: string[] = [];
  for (const line of output.split("\n").slice(0, -1)) {
    if (problems.length === MAX_PROBLEMS) break;
    // The lines that explain a problem further are indented.
    if (line.startsWith(" ")) continue;
    const [, at = "", column, message = ""] = DIAGNOSTIC.exec(line) ?? [];
    if (at === "") throw new Error(`the compiler said: ${beginning(line, MAX_MESSAGE_LENGTH)}`);
    const text = beginning(withoutAdvice(message.trim()), MAX_MESSAGE_LENGTH).replace(UNPRINTABLE, "\ufffd");
    problems.push(`/code ${Math.max(Number(at) - LINES_BEFORE, 1)}:${column}: ${text}`);
  }
  if (problems.length === 0 && output !== "") return ["/code types do not fit"];
  return problems;
}

/** Replaces the advice to install types or to change options, which a program cannot follow. */
function withoutAdvice(message: string): string {
  return message.replace(
    /^(Cannot find (?:name|module) '[^']*')(?:\.| or) (?:Do you need|its corresponding|Try |Consider ).*$/,
    "$1: programs have what JavaScript has and web APIs, and reach everything else by tools",
  );
}

const FIRST_VERSION = 7;

/** How long a program may be compiled, in ms: on an idle machine, it takes less than 100. */
const WALL_TIME_MS = 10_000;

/** The compiler reserves about half a GiB of addresses before it starts. */
const LIMITS = Object.freeze({ cpuMs: WALL_TIME_MS, processMemoryBytes: 1_536 * 1_024 * 1_024 });

/** Maximum size of the compiler's output that is read, in bytes. */
const MAX_OUTPUT_BYTES = 256 * 1_024;

/** Files cannot import each other, and none is written. Programs catch errors with `code` and `message`. */
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

/** The compiler's output, or why there is none. */
type CompilerEnd =
  | { readonly status: "checked"; readonly output: string }
  /** It ran out of time or memory. */
  | { readonly status: "exhausted" | "cancelled" };

/**
 * Runs TypeScript's compiler in the sandbox `process`, since the code that it reads is hostile: it has no network, sees no
 * other files, and ends when its time or memory is used up.
 */
class ConfinedCompiler {
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

/** Reads a stream to its end, and returns its beginning. */
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
