import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { entryFile } from "../../../base/entry-file.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import { CompilationReport } from "./compilation-report.ts";
import { LENGTH_BYTES, VALID } from "./transpile-options.ts";

/** What a child works. Its wall time says more of what else the machine does, and has a bound only to end at all. */
const MAX_CPU_MS = 10_000;
const TIMEOUT_MS = 30_000;
const HEAP_MIB = 512;
/** Pages of 64 KiB: 1 GiB for jco, which is WebAssembly itself. */
const WASM_PAGES = 16_384;
const MAX_CHILDREN = 2;

/**
 * CPU time that compiling one function may take, in ms. V8 compiles a function when it is first called, and nothing
 * interrupts that, so it bounds how long a call can outlive its deadline.
 */
const MAX_FUNCTION_MS = 200;

/** How often a component is compiled that takes a little longer: on a busy machine, its times are estimates. */
const MAX_ATTEMPTS = 3;

const jco = createRequire(import.meta.url).resolve("@bytecodealliance/jco-transpile/component");
const CHILD = entryFile("sandboxes/wasm/component/transpile-child");
const RESOURCE_WATCH = entryFile("sandboxes/wasm/component/resource-watch");

/** Node's permission model: the process may read jco and itself, and start the thread that jco's shim needs. */
const CHILD_FLAGS: readonly string[] = [
  "--no-warnings",
  "--permission",
  "--allow-worker",
  `--allow-fs-read=${dirname(CHILD)}${sep}*`,
  `--allow-fs-read=${enclosingModules(jco)}${sep}*`,
  `--max-old-space-size=${HEAP_MIB}`,
  `--wasm-max-mem-pages=${WASM_PAGES}`,
];

/** Why the child was ended, by the signal that did it: `resource-watch.ts`, and the timeout here. */
const ENDED_BY: ReadonlyMap<NodeJS.Signals | null, string> = new Map([
  ["SIGKILL", `validating and compiling it took longer than ${TIMEOUT_MS} ms, or too much memory`],
  ["SIGTERM", `validating and compiling it took more than ${MAX_CPU_MS} ms of CPU time`],
]);

/** The version of jco: its verdict is no other's. */
export function jcoVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", pathToFileURL(jco)), "utf8"));
  return String((manifest as { readonly version?: unknown }).version);
}

/**
 * Has jco validate components, by transpiling them, and V8 compile them: each in a process of its own that can reach
 * nothing and ends in time. What they make is thrown away; a component is run by its link plan.
 */
export class Validator {
  readonly #closing = new AbortController();
  readonly #waiting: (() => void)[] = [];
  #children = 0;

  /**
   * Passes a valid component.
   *
   * @param cores Its core modules as they will be compiled.
   * @throws {ToolPreparationError} with what jco said, or which bound was passed.
   */
  async validate(binary: Uint8Array, cores: readonly Uint8Array[]): Promise<void> {
    // Another may have come first by the time that this one is woken.
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

  /** Ends the processes. */
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
  // It may end before it has read everything; its exit tells why.
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

/** The outermost `node_modules` around a module: its imports may be resolved anywhere up to there. */
function enclosingModules(path: string): string {
  const marker = `${sep}node_modules${sep}`;
  const at = path.indexOf(marker);
  return at === -1 ? dirname(path) : path.slice(0, at + marker.length - 1);
}
