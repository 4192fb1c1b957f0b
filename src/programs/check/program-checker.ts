import { entryFile } from "../../base/entry-file.ts";
import type { TaskObserver } from "../../sandboxes/contract/task.ts";
import { WorkerPool } from "../../sandboxes/threads/worker-pool.ts";
import type { PreflightContext } from "../../tool/preflight.ts";
import type { ProgramTypes } from "../types/type-checker.ts";
import type { CheckedCode, CheckTask, ParsedCode } from "./checked-code.ts";
import { useProblems } from "./use-problems.ts";

/**
 * How long a program may be parsed, in ms. The longest ones take less than half a second of CPU time; on a busy machine, the thread
 * may get little of it.
 */
const WALL_TIME_MS = 20_000;

/** The threads are ended after this time without a program, in ms. */
const IDLE_MS = 60_000;

const THREAD_LIMITS = Object.freeze({ stackSizeMb: 16, maxOldGenerationSizeMb: 512 });

const SILENT: TaskObserver = { output: () => {}, log: () => {} };

/** Checks programs before they run, in a thread that is started for the first one. It does not keep a process alive. */
export class ProgramChecker {
  readonly #types: ProgramTypes | undefined;
  #pool: WorkerPool | undefined;
  #running = 0;
  #idle: NodeJS.Timeout | undefined;

  /** @param types Default: types are not checked. */
  constructor(types?: ProgramTypes) {
    this.#types = types;
  }

  /** Returns what is wrong with a program, as `/code line:column: message`. */
  async problemsOf(task: CheckTask, context: PreflightContext): Promise<readonly string[]> {
    const checked = await this.#check(task, context);
    if (checked === "timeout") return ["/code cannot be parsed in time: it is too large or too complex"];
    if ("problem" in checked) {
      const { line, column, message } = checked.problem;
      return [`/code ${line}:${column}: ${message}`];
    }
    const problems = useProblems(checked.uses, context);
    return problems.length > 0 || checked.language === "js" ? problems : this.#typeProblems(checked, context);
  }

  async #typeProblems(
    { typed: code, isExpression, uses }: ParsedCode,
    context: PreflightContext,
  ): Promise<readonly string[]> {
    if (this.#types === undefined) return [];
    const { checker, declare } = this.#types;
    const declarations = declare([...new Set(uses.map(({ name }) => name))]);
    this.#begin();
    try {
      const program = { code, isExpression, declarations };
      return await checker.problemsOf(program, context);
    } finally {
      this.#end();
    }
  }

  async #check(task: CheckTask, { principal, signal }: PreflightContext): Promise<CheckedCode | "timeout"> {
    const pool = this.#begin();
    try {
      // Programs of those whose programs took too long wait for each other only.
      const fairness = principal && { caller: principal.id, tool: principal.id };
      const options = { wallTimeMs: WALL_TIME_MS, signal, observer: SILENT, ...fairness };
      const outcome = await pool.run<CheckedCode>(task, options);
      if (outcome.status === "returned") return outcome.result;
      if (outcome.status === "timeout") return "timeout";
      throw new Error(`the check of a program ended with ${outcome.status}`);
    } finally {
      this.#end();
    }
  }

  #begin(): WorkerPool {
    clearTimeout(this.#idle);
    this.#running++;
    const entry = entryFile("programs/check/worker-entry");
    this.#pool ??= new WorkerPool({ entry, limits: THREAD_LIMITS }, { threads: 1 });
    return this.#pool;
  }

  #end(): void {
    if (--this.#running > 0) return;
    this.#idle = setTimeout(() => {
      const pool = this.#pool;
      this.#pool = undefined;
      void pool?.close();
      void this.#types?.checker.close();
    }, IDLE_MS).unref();
  }
}
