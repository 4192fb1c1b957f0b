import { cpus } from "node:os";
import { allow, CanonicalJson } from "sandgate";
import type { DispatchedRecord, EndedRecord } from "sandgate/journal";
import { JournalHistory, openJournal } from "sandgate/journal";
import { NewDirectory } from "./new-directory.ts";

/**
 * Records a million calls within 30 days, and prints how long it takes until their overview is complete: the first time, and when a
 * process goes on with the stored index. `node bench/journal/overview.ts [CALLS]`.
 */
const calls = Number(process.argv[2] ?? 1_000_000);
const MONTH_MS = 29 * 86_400_000;
const SANDBOXES = ["host", "quickjs", "wasm", "process"] as const;
const GRANTS = SANDBOXES.map((sandbox) => allow({ sandbox, limits: { wallTimeMs: 30_000 } }).grant);
const CODES = [undefined, undefined, undefined, "timeout", undefined, undefined, "execution_error"] as const;

async function record(directory: string): Promise<void> {
  await using journal = await openJournal({ directory, sync: "none" });
  const [now, startedAt] = [Date.now, Date.now() - MONTH_MS];
  let index = 0;
  // Records have the times at which they are made.
  Date.now = () => startedAt + Math.floor((index / calls) * MONTH_MS);
  for (; index < calls; index++) {
    const call = callOf(index);
    const written =
      index % 20 === 19 ? journal.deny({ ...call, code: "permission_denied" }) : journal.begin(call);
    if (index % 20 !== 19) journal.end(endOf(call, index));
    if (index % 1_000 === 0) await (written ?? journal.flush());
  }
  Date.now = now;
  await journal.flush();
}

function callOf(index: number): DispatchedRecord {
  const input = { path: `src/module-${index % 100}/file-${index}.ts`, text: "x".repeat(60) };
  return {
    callId: `call_${index}`,
    sessionId: `session-${index >> 6}`,
    toolName: `tool_${index % 40}`,
    rules: [`rule-${index % 25}`],
    definitionDigest: "d".repeat(64),
    policyRevision: "a".repeat(64),
    canonical: new CanonicalJson(Object.freeze(input)),
    grant: GRANTS[index % GRANTS.length] as (typeof GRANTS)[number],
    decision: "allow",
    sideEffects: "write",
    principal: { id: `user-${index % 5}`, kind: "user" },
    ...(index % 50 === 0 && {
      answer: { by: `person-${index % 3}`, decision: "allow", afterMs: index % 60_000 },
    }),
  };
}

function endOf({ callId, sessionId, toolName, principal }: DispatchedRecord, index: number): EndedRecord {
  const code = CODES[index % CODES.length];
  return {
    callId,
    sessionId,
    toolName,
    ...(principal && { principal }),
    success: code === undefined,
    ...(code && { code, effect: "unknown" }),
    receipt: { enforced: {}, used: { wallTimeMs: (index * 7_919) % 3_000 } },
    output: new CanonicalJson("done"),
  };
}

const directory = new NewDirectory();
try {
  await record(directory.path);
  await using journal = await openJournal({ directory: directory.path });
  const isVisible = (): boolean => true;
  for (const round of ["first", "with the stored index"]) {
    // The second one is a new process, as far as the index is concerned.
    const history = new JournalHistory(journal, directory.path);
    const startedAt = performance.now();
    for (;;) {
      const { isComplete, total } = await history.overview({ range: "month", isVisible, now: Date.now() });
      if (!isComplete) continue;
      const ms = Math.round(performance.now() - startedAt);
      process.stdout.write(`${round}: ${ms} ms, ${total.calls} calls\n`);
      break;
    }
    for (const range of ["hour", "day", "week", "month"] as const) {
      const from = performance.now();
      await history.overview({ range, isVisible, now: Date.now() });
      process.stdout.write(`  then the last ${range}: ${(performance.now() - from).toFixed(1)} ms\n`);
    }
  }
  process.stdout.write(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}\n`);
} finally {
  directory.delete();
}
