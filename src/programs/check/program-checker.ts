import { entryFile } from "../../base/package-files.ts";
import type { TaskObserver } from "../../sandboxes/contract/sandbox.ts";
import { WorkerPool } from "../../sandboxes/threads/worker-pool.ts";
import type { PreflightContext } from "../../tool/tool-traits.ts";
import type { ProgramTypes } from "../type-checker.ts";
import type {
  CheckedCode,
  CheckTask,
  CodePosition,
  KnownInput,
  ParsedCode,
  ToolUse,
} from "./checked-code.ts";

/** Maximum number of problems that are reported. */
const MAX_PROBLEMS = 10;

const BRANCHES = /\b(?:anyOf|oneOf|if|then|else|not)\b|must NOT be valid/;

/** Problems of an object's own members, which no value of another member changes. */
const OWN_MEMBERS = /^must (?:have required property|NOT have (?:additional|unevaluated) properties)/;

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

/** Returns what is wrong with the tools that a program names, and with the literal parts of their inputs. */
function useProblems(uses: readonly ToolUse[], context: PreflightContext): readonly string[] {
  const problems = new Set<string>();
  for (const { name, line, column, input } of uses) {
    if (problems.size >= MAX_PROBLEMS) break;
    const refusal = context.refusalOf(name);
    if (refusal !== undefined) problems.add(`/code ${line}:${column}: ${refusal}`);
    else if (input !== undefined)
      for (const problem of inputProblems(name, input, context)) problems.add(problem);
  }
  return [...problems].slice(0, MAX_PROBLEMS);
}

function inputProblems(name: string, input: KnownInput, context: PreflightContext): readonly string[] {
  const { value, unknown, places } = input;
  if (unknown.includes("")) return [];
  const found = context.problemsOf(name, value);
  // With an unknown part, which branch of a schema applies is unknown, too.
  if (unknown.length > 0 && found.some(({ message }) => BRANCHES.test(message))) return [];
  return found
    .filter(({ path, message }) => isCertain(path, message, unknown))
    .map(({ path, message }) => {
      const { line, column } = placeOf(path, places);
      return `/code ${line}:${column}: tools.${name}: ${path === "" ? "" : `${path} `}${message}`;
    });
}

/** Whether a problem is there whatever the unknown parts are. */
function isCertain(path: string, message: string, unknown: readonly string[]): boolean {
  if (unknown.some((part) => path === part || path.startsWith(`${part}/`))) return false;
  return OWN_MEMBERS.test(message) || !unknown.some((part) => part.startsWith(`${path}/`));
}

/** The place of the value, or of the innermost one around it that the program has. */
function placeOf(path: string, places: KnownInput["places"]): CodePosition {
  for (let at = path; ; at = at.slice(0, Math.max(at.lastIndexOf("/"), 0))) {
    if (Object.hasOwn(places, at)) return places[at] as CodePosition;
    if (at === "") return { line: 1, column: 1 };
  }
}
