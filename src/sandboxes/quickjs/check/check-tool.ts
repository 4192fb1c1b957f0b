import { entryFile } from "../../../base/entry-file.ts";
import type { QuickJsImplementation } from "../../../tool/implementations/quickjs-implementation.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { TaskObserver } from "../../contract/task.ts";
import { WorkerPool } from "../../threads/worker-pool.ts";
import { ToolSource } from "../template/tool-source.ts";
import type { CheckAnswer, CheckTask, Finding } from "./finding.ts";

/** How long the modules that one round adds may be checked, in ms. */
const WALL_TIME_MS = 10_000;

/** The memory of the thread: a syntax tree takes about a hundred times its source. */
const THREAD_LIMITS = Object.freeze({ stackSizeMb: 16, maxOldGenerationSizeMb: 1_024 });

const SILENT: TaskObserver = { output: () => {}, log: () => {} };

/**
 * Finds what a tool uses and the sandbox does not have: undeclared variables, packages, modules of Node.js. It reads the
 * tool's modules, and does not run them.
 *
 * @param globals The names of the sandbox's globals.
 * @throws {ToolPreparationError} if the tool's module cannot be read, or checking it takes too long.
 */
export async function findWhatIsMissing(
  implementation: QuickJsImplementation,
  globals: readonly string[],
): Promise<readonly Finding[]> {
  const source = await ToolSource.open(implementation);
  const pool = new WorkerPool(
    { entry: entryFile("sandboxes/quickjs/check/worker-entry"), limits: THREAD_LIMITS },
    { threads: 1 },
  );
  try {
    const findings: Finding[] = [];
    const checked = new Set<string>();
    for (;;) {
      const added = Object.entries(source.program.sources).filter(([name]) => !checked.has(name));
      if (added.length === 0) return findings;
      for (const [name] of added) checked.add(name);
      const answer = await check(pool, { sources: Object.fromEntries(added), globals });
      findings.push(...answer.findings);
      for (const name of answer.imports) await readIfPossible(source, name);
    }
  } finally {
    await pool.close();
  }
}

async function check(pool: WorkerPool, task: CheckTask): Promise<CheckAnswer> {
  const options = { wallTimeMs: WALL_TIME_MS, signal: undefined, observer: SILENT };
  const outcome = await pool.run<CheckAnswer>(task, options);
  if (outcome.status === "returned") return outcome.result;
  throw new ToolPreparationError("its modules could not be checked: they are too large or too complex");
}

/** Reads a module of the tool. Loading the tool reports why one cannot be read. */
async function readIfPossible(source: ToolSource, name: string): Promise<void> {
  try {
    await source.read(name);
  } catch (error) {
    if (!(error instanceof ToolPreparationError)) throw error;
  }
}
