import { posix } from "node:path";
import { entryFile } from "../../../base/package-files.ts";
import type { CapabilityName } from "../../../policy/grant/capabilities.ts";
import type { QuickJsImplementation } from "../../../tool/implementations/implementations.ts";
import { type TaskObserver, ToolPreparationError } from "../../contract/sandbox.ts";
import { WorkerPool } from "../../threads/worker-pool.ts";
import { ToolSource } from "../tool-source.ts";
import type { CheckAnswer, CheckTask, Finding } from "./finding.ts";

/** What a module mentions when it uses a capability. */
const MENTIONS: readonly (readonly [mention: RegExp, capability: CapabilityName])[] = [
  [/\bfetch\s*\(/, "net"],
  [/\bfs\b/, "fs"],
  [/\btools\s*\.\s*call\s*\(/, "tools"],
  [/\b(?:getRandomValues|randomUUID)\b/, "random"],
];

/** The relative path of an import or a re-export. */
const IMPORT = /\b(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"'\n]+)["']/g;

/** Matches a comment, or a string, whose text is retained: it may be the path of an import. */
const COMMENT_OR_STRING = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/g;

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

/**
 * Returns the capabilities that the modules of a tool mention. A tool may mention one that it does not use; what it uses by
 * an unusual name is not found.
 *
 * @throws {ToolPreparationError} if a module cannot be read.
 */
export async function scriptNeeds(
  implementation: QuickJsImplementation,
): Promise<ReadonlySet<CapabilityName>> {
  const source = await ToolSource.open(implementation);
  const needs = new Set<CapabilityName>();
  const names = new Set([source.program.entry]);
  // A set can be extended while it is read.
  for (const name of names) {
    await source.read(name);
    const { sources, aliases } = source.program;
    const code = (sources[aliases?.get(name) ?? name] ?? "").replace(COMMENT_OR_STRING, "$1");
    for (const [mention, capability] of MENTIONS) if (mention.test(code)) needs.add(capability);
    for (const [, path = ""] of code.matchAll(IMPORT)) names.add(posix.join(posix.dirname(name), path));
  }
  return needs;
}
