import { allow, CanonicalJson, defineTool, ToolRegistry } from "sandgate";
import type { DispatchedRecord } from "sandgate/journal";
import { openJournal, verifyJournal } from "sandgate/journal";
import type { OpenCase } from "../harness/case.ts";
import { openDispatch, rulePolicy } from "../host/dispatch.ts";
import { INPUT, INPUT_SCHEMA } from "../setting.ts";
import { isTrue } from "./bare-loop.ts";
import { NewDirectory } from "./new-directory.ts";

const { grant } = allow({ sandbox: "host", limits: { wallTimeMs: 30_000 } });
const RULES: readonly string[] = Object.freeze(["files", "all"]);
const DEFINITION_DIGEST = "d".repeat(64);
const POLICY_REVISION = "a".repeat(64);
/** Ids come again: the journal remembers calls without an end, of which a process never has a million. */
const IDS = 1_024;
let count = 0;

function newRecord(): DispatchedRecord {
  return {
    callId: `call_${count++ % IDS}`,
    sessionId: "bench",
    toolName: "write_file",
    rules: RULES,
    decision: "allow",
    canonical: new CanonicalJson(Object.freeze({ ...INPUT, path: `src/${count}.ts` })),
    grant,
    definitionDigest: DEFINITION_DIGEST,
    policyRevision: POLICY_REVISION,
    sideEffects: "write",
  };
}

/** Returns the line of a record as plain JSON. */
export function newJsonLine(): string {
  const { canonical, ...others } = newRecord();
  return `${JSON.stringify({ ...others, args: canonical.text, at: Date.now(), prev: "c".repeat(64) })}\n`;
}

/** Opens a case that records a call that is about to run, and waits until the record is durable. */
export async function openBegin(): Promise<OpenCase> {
  const directory = new NewDirectory();
  const journal = await openJournal({ directory: directory.path });
  return {
    run: () => journal.begin(newRecord())?.then(() => true),
    check: isTrue,
    close: async () => {
      await journal.close();
      directory.delete();
    },
  };
}

/** Opens a case that dispatches a call of a tool that only reads. Its CPU time is that of the caller's thread. */
export async function openRecordedRead(isRecorded: boolean): Promise<OpenCase> {
  const directory = new NewDirectory();
  const journal = isRecorded ? await openJournal({ directory: directory.path, sync: "none" }) : undefined;
  const tool = defineTool({
    name: "read",
    description: "",
    inputSchema: INPUT_SCHEMA,
    sideEffects: "read",
    host: async (input: unknown) => input,
  });
  const registry = new ToolRegistry().register(tool);
  const opened = await openDispatch({ registry, policy: rulePolicy(), ...(journal && { journal }) });
  return {
    ...opened,
    close: async () => {
      await opened.close?.();
      await journal?.close();
      directory.delete();
    },
  };
}

/** Opens a case that verifies a journal of so many records. */
export async function openVerify(records: number): Promise<OpenCase> {
  const directory = new NewDirectory();
  {
    await using journal = await openJournal({ directory: directory.path, sync: "none" });
    while (journal.records < records) {
      await Promise.all(Array.from({ length: 1_000 }, () => journal.begin(newRecord())));
    }
  }
  return {
    run: async () => {
      const { last, contradiction } = await verifyJournal({ directory: directory.path });
      return last >= records && contradiction === undefined;
    },
    check: isTrue,
    close: () => directory.delete(),
  };
}
