import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createJournalKeys } from "../../../src/journal/checkpoints/signed-note.ts";
import { openJournal } from "../../../src/journal/journal.ts";
import { verifyJournal } from "../../../src/journal/verify/verify-journal.ts";
import { TemporaryDirectory } from "../records.ts";

const PROGRAM = fileURLToPath(new URL("program.ts", import.meta.url));
const KEYS = createJournalKeys("example.com/journal");

/** What was found after a crash. */
export interface CrashReport {
  /** The number of steps of the process; 0 if it was killed. */
  readonly steps: number;
  readonly effects: number;
  /** The effects whose calls are not in the journal. */
  readonly unrecorded: readonly string[];
  /** What verifying said against the journal, as it was left and after it was opened again. */
  readonly alarms: readonly unknown[];
  /** The calls that have no end after the journal was opened again. */
  readonly endless: readonly string[];
  readonly isTorn: boolean;
}

/** Lets a process crash at a step, and looks at what it left. */
export async function crash(killAt: number, calls: number, inFlight: number): Promise<CrashReport> {
  using directory = new TemporaryDirectory();
  const order = { directory: directory.path, key: KEYS.signer, calls, inFlight, killAt };
  const steps = await runProgram(JSON.stringify(order));
  const effectsFile = join(directory.path, "effects");
  const effects = existsSync(effectsFile) ? readFileSync(effectsFile, "utf8").split("\n").slice(0, -1) : [];
  const journal = join(directory.path, "journal");
  const recorded = new Set(entriesOf(journal, "tool.call.dispatched"));
  const unrecorded = effects.filter((id) => !recorded.has(id));
  const left = await verifyJournal({ directory: journal, keys: [KEYS.verifier] });
  await (await openJournal({ directory: journal, key: KEYS.signer })).close();
  const reopened = await verifyJournal({ directory: journal, keys: [KEYS.verifier] });
  const ended = new Set(entriesOf(journal, "tool.call.ended"));
  return {
    steps,
    effects: effects.length,
    unrecorded,
    isTorn: left.torn !== undefined,
    alarms: [left.contradiction, reopened.contradiction, reopened.torn].filter(Boolean),
    endless: entriesOf(journal, "tool.call.dispatched").filter((id) => !ended.has(id)),
  };
}

/** Returns the number of steps that the process took; 0 if it was killed. */
async function runProgram(order: string): Promise<number> {
  const child = spawn(process.execPath, [PROGRAM, order], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const [code, signal] = await once(child, "close");
  if (signal === "SIGKILL") return 0;
  if (code !== 0) throw new Error(`the process ended with ${code}: ${errors}`);
  return Number(output);
}

/** The ids of the calls in whole lines of a type. */
function entriesOf(directory: string, type: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(directory, name), "utf8").split("\n").slice(0, -1))
    .map((line) => JSON.parse(line))
    .filter((entry) => entry.type === type)
    .map((entry) => String(entry.tool_call_id));
}
