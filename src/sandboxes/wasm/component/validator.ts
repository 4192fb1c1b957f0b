import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { entryFile } from "../../../base/entry-file.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import { CompilationReport } from "./compilation-report.ts";
import { LENGTH_BYTES, VALID } from "./transpile-options.ts";

/** The maximum CPU time of a child. Its wall time depends on the load of the machine, so its limit is only a backstop. */
const MAX_CPU_MS = 10_000;
const TIMEOUT_MS = 30_000;
const HEAP_MIB = 512;
/** The maximum memory of jco, which is itself WebAssembly, in pages of 64 KiB: 1 GiB. */
const WASM_PAGES = 16_384;
const MAX_CHILDREN = 2;

/**
 * The maximum CPU time to compile one function, in ms. V8 compiles a function on its first call, and cannot be
 * interrupted, so this bounds how long a call can outlive its deadline.
 */
const MAX_FUNCTION_MS = 200;

/** How many times a component is compiled if it takes slightly too long, as times on a busy machine are estimates. */
const MAX_ATTEMPTS = 3;

const jco = createRequire(import.meta.url).resolve("@bytecodealliance/jco-transpile/component");
const CHILD = entryFile("sandboxes/wasm/component/transpile-child");
const RESOURCE_WATCH = entryFile("sandboxes/wasm/component/resource-watch");

/** Flags of Node's permission model: the process may read jco and its own code, and start threads, which jco needs. */
const CHILD_FLAGS: readonly string[] = [
  "--no-warnings",
  "--permission",
  "--allow-worker",
  `--allow-fs-read=${dirname(CHILD)}${sep}*`,
  `--allow-fs-read=${enclosingModules(jco)}${sep}*`,
  `--max-old-space-size=${HEAP_MIB}`,
  `--wasm-max-mem-pages=${WASM_PAGES}`,
];

/** Why the child was ended, by signal. The signals are sent by `resource-watch.ts` and by the timeout here. */
const ENDED_BY: ReadonlyMap<NodeJS.Signals | null, string> = new Map([
  ["SIGKILL", `validating and compiling it took longer than ${TIMEOUT_MS} ms, or too much memory`],
  ["SIGTERM", `validating and compiling it took more than ${MAX_CPU_MS} ms of CPU time`],
]);

/** The version of jco. A verdict is only valid for this version. */
export function jcoVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", pathToFileURL(jco)), "utf8"));
  return String((manifest as { readonly version?: unknown }).version);
}

/**
 * Makes jco validate components by transpiling them, and V8 compile them. Each runs in its own process, without access
 * to anything and with limits. The generated code is discarded, because components run by their link plan.
 */
export class Validator {
  readonly #closing = new AbortController();
  readonly #waiting: (() => void)[] = [];
  #children = 0;

  /**
   * Checks that a component is valid.
   *
   * @param cores Its core modules as they will be compiled.
   * @throws {ToolPreparationError} with jco's message, or with the limit that was exceeded.
   */
  async validate(binary: Uint8Array, cores: readonly Uint8Array[]): Promise<void> {
    // Another waiter may have been faster.
    while (this.#children >= MAX_CHILDREN) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#children++;
    try {
      await this.#validate([binary, ...cores], MAX_ATTEMPTS);
    } finally {
      this.#children--;
      this.#waiting.shift()?.();
    }
  }

  async #validate(parts: readonly Uint8Array[], attempts: number): Promise<void> {
    const report = await runChild(parts, this.#closing.signal);
    const verdict = report.verdict ?? "";
    if (!verdict.startsWith(VALID)) throw new ToolPreparationError(verdict.slice(1));
    const problem = report.memoryProblem();
    if (problem !== undefined) throw new ToolPreparationError(problem);
    const slowestMs = report.slowestMs(Number(verdict.slice(VALID.length)));
    if (slowestMs <= MAX_FUNCTION_MS) return;
    if (attempts === 1 || slowestMs > 2 * MAX_FUNCTION_MS) {
      throw new ToolPreparationError(
        `compiling one of its functions takes more than ${MAX_FUNCTION_MS} ms of CPU time`,
      );
    }
    await this.#validate(parts, attempts - 1);
  }

  /** Ends all processes. */
  close(): void {
    this.#closing.abort();
  }
}

function runChild(parts: readonly Uint8Array[], signal: AbortSignal): Promise<CompilationReport> {
  const { promise, resolve, reject } = Promise.withResolvers<CompilationReport>();
  const fail = (reason: string): void => reject(new ToolPreparationError(reason));
  if (signal.aborted) {
    fail("the sandbox is closed");
    return promise;
  }
  const args = [pathToFileURL(jco).href, RESOURCE_WATCH, String(MAX_CPU_MS)];
  // Loading the module takes several milliseconds, and most processes find that their components are valid.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(process.execPath, [...CHILD_FLAGS, CHILD, ...args], {
    env: {},
    stdio: ["pipe", "pipe", "pipe"],
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
    signal,
  });
  const report = new CompilationReport();
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => report.add(chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr = (stderr + chunk).slice(0, 2_048);
  });
  // The process may end before it has read everything. Its exit gives the reason.
  child.stdin.on("error", () => {});
  for (const part of parts) {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(part.length);
    child.stdin.write(length);
    child.stdin.write(part);
  }
  child.stdin.end();
  child.on("error", (error) => {
    fail(signal.aborted ? "the sandbox is closed" : `the validator cannot be started: ${error.message}`);
  });
  child.on("close", (code, killedBy) => {
    if (code === 0 && report.verdict !== undefined) resolve(report);
    else fail(ENDED_BY.get(killedBy) ?? `jco crashed (exit ${code ?? killedBy}): ${stderr}`);
  });
  return promise;
}

/** Returns the outermost `node_modules` that contains a module, within which its imports are resolved. */
function enclosingModules(path: string): string {
  const marker = `${sep}node_modules${sep}`;
  const at = path.indexOf(marker);
  return at === -1 ? dirname(path) : path.slice(0, at + marker.length - 1);
}
