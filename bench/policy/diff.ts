import { deepStrictEqual } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { allow, CanonicalJson, type PolicySubject, RulePolicy } from "sandgate";
import type { DispatchedRecord, EndedRecord } from "sandgate/journal";
import { diffPolicies, openJournal } from "sandgate/journal";
import type { OpenCase } from "../harness/case.ts";
import { NewDirectory } from "../journal/new-directory.ts";

const { grant } = allow({ sandbox: "host", limits: { wallTimeMs: 30_000 } });
const RULES: readonly string[] = Object.freeze(["files", "all"]);
const TOOLS = Array.from({ length: 20 }, (_, index): PolicySubject => {
  const name = `tool_${index}`;
  const definition = { digest: String(index).padStart(64, "0") };
  return { name, sideEffects: "write", sandboxes: ["host"], inputSchema: {}, definition };
});
const PRINCIPALS = Array.from({ length: 50 }, (_, index) =>
  Object.freeze({ id: `user-${index}`, kind: "user" as const }),
);

/** A journal of so many calls, each with the record of its end. No two of them have the same arguments. */
async function record(calls: number): Promise<NewDirectory> {
  const directory = new NewDirectory();
  await using journal = await openJournal({ directory: directory.path, sync: "none" });
  await journal.keep(policyOf(9), TOOLS);
  for (let index = 0; index < calls; index++) {
    const call = callOf(index);
    const written = journal.begin(call);
    journal.end(endOf(call));
    if (index % 1_000 === 0) await written;
  }
  await journal.flush();
  return directory;
}

function callOf(index: number): DispatchedRecord {
  const tool = TOOLS[index % TOOLS.length] as PolicySubject;
  const input = {
    path: `src/module-${index % 100}/file-${index}.ts`,
    text: "x".repeat(60),
    depth: index % 10,
  };
  return {
    callId: `call_${index}`,
    sessionId: `session-${index >> 6}`,
    toolName: tool.name,
    rules: RULES,
    canonical: new CanonicalJson(Object.freeze(input)),
    grant,
    decision: "allow",
    sideEffects: "write",
    definitionDigest: tool.definition?.digest ?? "",
    policyRevision: "a".repeat(64),
    principal: PRINCIPALS[index % PRINCIPALS.length] as (typeof PRINCIPALS)[number],
  };
}

function endOf({ callId, sessionId, toolName, principal }: DispatchedRecord): EndedRecord {
  return {
    callId,
    sessionId,
    toolName,
    ...(principal && { principal }),
    success: true,
    receipt: { enforced: grant.limits, used: { wallTimeMs: 1.5 } },
    output: new CanonicalJson("done"),
  };
}

/** Two rules for each tool, which allow calls up to a depth. */
function policyOf(max: number): RulePolicy {
  return new RulePolicy({
    rules: Array.from({ length: 40 }, (_, index) => ({
      tools: [`tool_${index % 20}`],
      effect: "allow" as const,
      sandboxes: ["host" as const],
      when: {
        "/path": { glob: `src/module-${index < 20 ? "[0-4]" : "[5-9]"}*/**` },
        "/depth": { range: { max } },
      },
    })),
  });
}

/** Opens a case that parses every line of the journal in this thread. */
export async function openParsing(calls: number): Promise<OpenCase> {
  const directory = await record(calls);
  return {
    run: () => {
      let parsed = 0;
      for (const name of readdirSync(directory.path).filter((each) => each.endsWith(".jsonl"))) {
        const bytes = readFileSync(directory.pathOf(name));
        for (let from = 0, to = bytes.indexOf(10); to >= 0; from = to + 1, to = bytes.indexOf(10, from)) {
          const { type } = JSON.parse(bytes.toString("utf8", from, to)) as { readonly type: string };
          if (type === "tool.call.dispatched") parsed++;
        }
      }
      return parsed;
    },
    check: (parsed) => deepStrictEqual(parsed, calls),
    close: () => directory.delete(),
  };
}

/** Opens a case that compares two policies on every call. */
export async function openDiff(calls: number): Promise<OpenCase> {
  const directory = await record(calls);
  const options = { before: policyOf(9), after: policyOf(8), directories: [directory.path] };
  return {
    run: () => diffPolicies(options),
    check: (answer) => {
      const { same, different, undecidable } = answer as Awaited<ReturnType<typeof diffPolicies>>;
      deepStrictEqual([same, different, undecidable.size], [(calls * 9) / 10, calls / 10, 0]);
    },
    close: () => directory.delete(),
  };
}
