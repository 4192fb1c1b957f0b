import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DeniedRecord, DispatchedRecord, EndedRecord } from "../../src/engine/call/journal.ts";
import { type Journal, openJournal } from "../../src/journal/journal.ts";
import { CanonicalJson } from "../../src/json/canonical.ts";
import { freezeJson, type JsonValue } from "../../src/json/value.ts";
import { allow } from "../../src/policy/policy.ts";

const { grant } = allow({ sandbox: "host", limits: { wallTimeMs: 1_000 } });

/** A directory that is deleted at the end of a test. */
export class TemporaryDirectory implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), "sandgate-journal-"));

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** The record of a call that is about to run. */
export function dispatched(
  callId: string,
  input: JsonValue = { path: "a.txt" },
  more: Partial<DispatchedRecord> = {},
): DispatchedRecord {
  return {
    callId,
    sessionId: "session-1",
    toolName: "write_file",
    rules: ["files"],
    canonical: new CanonicalJson(freezeJson(input)),
    definitionDigest: "d".repeat(64),
    decision: "allow",
    grant,
    sideEffects: "write",
    ...more,
  };
}

/** The record of a call that succeeded. */
export function ended(callId: string, more: Partial<EndedRecord> = {}): EndedRecord {
  return {
    callId,
    sessionId: "session-1",
    toolName: "write_file",
    success: true,
    receipt: { enforced: grant.limits, used: { wallTimeMs: 1.5 } },
    output: new CanonicalJson("done"),
    ...more,
  };
}

/** The record of a call that did not run. */
export function denied(callId: string, more: Partial<DeniedRecord> = {}): DeniedRecord {
  return {
    callId,
    sessionId: "session-1",
    toolName: "write_file",
    rules: ["no-writes"],
    code: "permission_denied",
    reason: "a rule denies it",
    ...more,
  };
}

/** Records calls that succeed, one after the other. */
export async function recordCalls(journal: Journal, count: number, name = "call"): Promise<void> {
  for (let index = 0; index < count; index++) {
    await journal.begin(dispatched(`${name}-${index}`, { path: `file-${index}.txt` }));
    journal.end(ended(`${name}-${index}`));
  }
}

/** The files with the records of a journal. */
export function recordsIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => join(directory, name));
}

/** Opens a journal with small files, and records calls in it. */
export async function writeRecords(directory: string, key: string | undefined, calls = 20): Promise<void> {
  await using journal = await openJournal({ directory, maxBytes: 4_096, ...(key && { key }) });
  await recordCalls(journal, calls);
}
