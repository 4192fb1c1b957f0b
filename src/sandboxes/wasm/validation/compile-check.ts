import { entryFile } from "../../../base/package-files.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import { COMPILED, CompilationReport, LENGTH_BYTES } from "./compilation-report.ts";
import { MAX_CPU_MS, startLimitedChild, TIMEOUT_MS } from "./limited-child.ts";

const MAX_CHILDREN = 2;

/**
 * The maximum CPU time to compile one function, in ms. V8 compiles a function on its first call, and cannot be
 * interrupted, so this bounds how long a call can outlive its deadline.
 */
const MAX_FUNCTION_MS = 200;

/** How many times a component is compiled if it takes slightly too long, as times on a busy machine are estimates. */
const MAX_ATTEMPTS = 3;

/** Why the child was ended, by signal. The signals are sent by `resource-watch.ts` and by the timeout here. */
const ENDED_BY: ReadonlyMap<NodeJS.Signals | null, string> = new Map([
  ["SIGKILL", `compiling it took longer than ${TIMEOUT_MS} ms, or too much memory`],
  ["SIGTERM", `compiling it took more than ${MAX_CPU_MS} ms of CPU time`],
]);

/**
 * Makes V8 compile code that may take long. Each component's is compiled in a process of its own, without access to
 * anything and with limits, because V8 cannot be interrupted while it compiles a function.
 */
export class CompileCheck {
  readonly #closing = new AbortController();
  readonly #waiting: (() => void)[] = [];
  #children = 0;

  /**
   * Checks that core modules compile within limits.
   *
   * @param cores As they will be compiled.
   * @throws {ToolPreparationError} with V8's message, or with the limit that was exceeded.
   */
  async check(cores: readonly Uint8Array[]): Promise<void> {
    // Another waiter may have been faster.
    while (this.#children >= MAX_CHILDREN) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#children++;
    try {
      await this.#check(cores, MAX_ATTEMPTS);
    } finally {
      this.#children--;
      this.#waiting.shift()?.();
    }
  }

  async #check(cores: readonly Uint8Array[], attempts: number): Promise<void> {
    const report = await runChild(cores, this.#closing.signal);
    const verdict = report.verdict ?? "";
    if (!verdict.startsWith(COMPILED)) throw new ToolPreparationError(verdict.slice(1));
    const problem = report.memoryProblem();
    if (problem !== undefined) throw new ToolPreparationError(problem);
    const slowestMs = report.slowestMs(Number(verdict.slice(COMPILED.length)));
    if (slowestMs <= MAX_FUNCTION_MS) return;
    if (attempts === 1 || slowestMs > 2 * MAX_FUNCTION_MS) {
      throw new ToolPreparationError(
        `compiling one of its functions takes more than ${MAX_FUNCTION_MS} ms of CPU time`,
      );
    }
    await this.#check(cores, attempts - 1);
  }

  /** Ends all processes. */
  close(): void {
    this.#closing.abort();
  }
}

function runChild(cores: readonly Uint8Array[], signal: AbortSignal): Promise<CompilationReport> {
  const { promise, resolve, reject } = Promise.withResolvers<CompilationReport>();
  const fail = (reason: string): void => reject(new ToolPreparationError(reason));
  if (signal.aborted) {
    fail("the sandbox is closed");
    return promise;
  }
  const child = startLimitedChild(entryFile("sandboxes/wasm/validation/compile-child"), { signal });
  const report = new CompilationReport();
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => report.add(chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr = (stderr + chunk).slice(0, 2_048);
  });
  for (const core of cores) {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(core.length);
    child.stdin.write(length);
    child.stdin.write(core);
  }
  child.stdin.end();
  child.on("error", (error) => {
    fail(
      signal.aborted ? "the sandbox is closed" : `the compiling process cannot be started: ${error.message}`,
    );
  });
  child.on("close", (code, killedBy) => {
    if (code === 0 && report.verdict !== undefined) resolve(report);
    else
      fail(ENDED_BY.get(killedBy) ?? `the compiling process crashed (exit ${code ?? killedBy}): ${stderr}`);
  });
  return promise;
}
