import { createHash } from "node:crypto";
import { appendFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { diffPolicies } from "../../../src/journal/diff/diff-policies.ts";
import type { PolicyDiff } from "../../../src/journal/diff/policy-diff.ts";
import { openJournal } from "../../../src/journal/journal.ts";
import { replayJournal } from "../../../src/journal/read/replay-journal.ts";
import { forgetSession } from "../../../src/journal/session-keys.ts";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import { freezeJson } from "../../../src/json/value.ts";
import { type CedarPolicy, openCedarPolicy } from "../../../src/policy/cedar/cedar-policy.ts";
import { HostPolicy, type PolicySubject } from "../../../src/policy/policy.ts";
import type { PolicyRule } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../../src/policy/strictest.ts";
import { denied, dispatched, ended, TemporaryDirectory } from "../records.ts";

function subjectOf(inputSchema: PolicySubject["inputSchema"]): PolicySubject {
  const registry = new ToolRegistry().register({
    name: "write_file",
    description: "",
    sideEffects: "write",
    inputSchema,
    host: () => null,
    quickjs: { source: "export default () => null" },
  });
  return registry.subjects[0] as PolicySubject;
}

const TOOL = subjectOf({});
const DIGEST = TOOL.definition?.digest ?? "";
const USE = { effect: "allow", tools: ["*"], sandboxes: ["host"] } as const;

function policyOf(...rules: readonly PolicyRule[]): RulePolicy {
  return new RulePolicy({ rules });
}

const BEFORE = policyOf(
  { ...USE, name: "sources", when: { "/path": { prefix: "src/" } } },
  { ...USE, name: "docs", when: { "/path": { prefix: "docs/" } } },
);

/** Records calls with these paths, as a kept tool's. */
async function record(
  directory: string,
  paths: readonly string[],
  more: Parameters<typeof dispatched>[2] = {},
  options: { readonly arguments?: "sealed"; readonly maxBytes?: number } = {},
): Promise<void> {
  await using journal = await openJournal({ directory, sync: "none", ...options });
  await journal.keep(BEFORE, [TOOL]);
  for (const [index, path] of paths.entries()) {
    const id = `call-${index}`;
    await journal.begin(dispatched(id, { path }, { definitionDigest: DIGEST, ...more }));
    journal.end(ended(id));
  }
}

describe("A difference of two policies", () => {
  test("groups the calls by change and rules, with the first call of each and what permits more first", async () => {
    using directory = new TemporaryDirectory();
    const paths = ["lib/a", "src/a", "docs/a", "lib/b", "src/a", "lib/c", "docs/b", "src/b", "tmp/a"];
    await record(directory.path, paths, {}, { maxBytes: 1_024 });
    expect(readdirSync(directory.path).filter((name) => name.endsWith(".jsonl")).length).toBeGreaterThan(3);
    const after = policyOf(
      { ...USE, name: "sources", when: { "/path": { prefix: "src/" } }, limits: { wallTimeMs: 5 } },
      { ...USE, name: "libraries", when: { "/path": { prefix: "lib/" } } },
    );
    const of = (callId: string, seq: number): object => ({
      directory: directory.path,
      seq,
      callId,
      tool: "write_file",
    });
    const options = { before: BEFORE, after, directories: [directory.path] };
    const diff = await diffPolicies(options);
    expect(diff.changes).toMatchObject([
      { change: "deny → allow", before: [], after: ["libraries"], count: 3, witness: { callId: "call-0" } },
      { change: "allow → deny", before: ["docs"], after: [], count: 2, witness: { callId: "call-2" } },
      {
        change: "narrower grant",
        before: ["sources"],
        after: ["sources"],
        count: 3,
        witness: { callId: "call-1" },
      },
    ]);
    expect(diff.changes[0]?.witness).toEqual(of("call-0", diff.changes[0]?.witness.seq ?? 0));
    expect(diff).toMatchObject({ same: 1, different: 8, undecided: 0, undecidable: new Map() });
    const twice = await diffPolicies({ ...options, directories: [directory.path, directory.path] });
    expect(twice).toMatchObject({ same: 2, different: 16 });
    expect(twice.changes.map(({ count }) => count)).toEqual([6, 4, 6]);
  });

  test("reads the whole arguments, even if they have members of records", async () => {
    using directory = new TemporaryDirectory();
    const forged = createHash("sha256").update('{"a":1').digest("hex");
    {
      await using journal = await openJournal({ directory: directory.path, sync: "none" });
      await journal.keep(BEFORE, [TOOL]);
      for (const input of [
        { a: 1, argumentDigest: forged, path: "lib/a" },
        { a: 1, argumentDigest: "b".repeat(64), at: 1, path: "lib/b" },
        { a: { prev: DIGEST, seq: 1 }, path: "lib/é" },
      ]) {
        await journal.begin(dispatched(input.path, input, { definitionDigest: DIGEST }));
      }
    }
    const after = policyOf({ ...USE, name: "libraries", when: { "/path": { prefix: "lib/" } } });
    expect(await diffPolicies({ before: BEFORE, after, directories: [directory.path] })).toMatchObject({
      same: 0,
      different: 3,
      undecidable: new Map(),
      changes: [{ change: "deny → allow", count: 3 }],
    });
  });

  test("counts the same with and without equal calls", async () => {
    using directory = new TemporaryDirectory();
    const { path } = directory;
    {
      await using journal = await openJournal({ directory: path, sync: "none" });
      await journal.keep(BEFORE, [TOOL]);
      for (let index = 0; index < 12_000; index++) {
        const folder = ["src", "docs", "lib"][index % 3];
        const name = index < 11_000 ? index : index % 10;
        const written = journal.begin(
          dispatched(`call-${index}`, { path: `${folder}/${name}` }, { definitionDigest: DIGEST }),
        );
        if (index % 500 === 0) await written;
      }
    }
    const after = policyOf({ ...USE, name: "libraries", when: { "/path": { prefix: "lib/" } } });
    expect(await diffPolicies({ before: BEFORE, after, directories: [path] })).toMatchObject({
      same: 0,
      different: 12_000,
      changes: [
        { change: "deny → allow", count: 4_000, witness: { callId: "call-2" } },
        { change: "allow → deny", before: ["sources"], count: 4_000, witness: { callId: "call-0" } },
        { change: "allow → deny", before: ["docs"], count: 4_000, witness: { callId: "call-1" } },
      ],
    });
  });

  test("is about the calls of some files of a journal, if these are given", async () => {
    using directory = new TemporaryDirectory();
    const { path } = directory;
    await record(path, ["lib/a", "src/a", "lib/b", "lib/c"], {}, { maxBytes: 1_024 });
    const files = readdirSync(path).filter((name) => name.endsWith(".jsonl"));
    expect(files.length).toBeGreaterThan(2);
    const after = policyOf({ ...USE, name: "all" });
    const found = await Promise.all(
      files.map((name) => diffPolicies({ before: BEFORE, after, directories: [join(path, name)] })),
    );
    const sum = (count: (each: PolicyDiff) => number): number =>
      found.reduce((total, each) => total + count(each), 0);
    expect([sum(({ same }) => same), sum(({ different }) => different)]).toEqual([1, 3]);
    expect(Math.max(...found.map(({ different }) => different))).toBeLessThan(3);
    const [witness] = found.flatMap(({ changes }) => changes.map((each) => each.witness));
    expect(witness).toMatchObject({ directory: path, callId: "call-0" });
    const all = { before: BEFORE, after, directories: files.map((name) => join(path, name)) };
    expect(await diffPolicies(all)).toEqual(await diffPolicies({ ...all, directories: [path] }));
  });

  test("counts what cannot be decided again by its cause, and calls that failed before the decision", async () => {
    using directory = new TemporaryDirectory();
    const { path } = directory;
    await record(path, ["src/a"]);
    await record(path, ["AKIAIOSFODNN7EXAMPLE"]);
    await record(path, ["src/a", "src/b"], { definitionDigest: "b".repeat(64) });
    await record(path, ["src/a"], {}, { arguments: "sealed" });
    await record(path, ["src/a"], { sessionId: "forgotten" }, { arguments: "sealed" });
    await forgetSession(path, "forgotten");
    {
      await using journal = await openJournal({ directory: path });
      journal.deny(denied("invalid", { code: "validation_error" }));
    }
    const after = policyOf({ ...USE, name: "other", tools: ["read_file"] });
    expect(await diffPolicies({ before: BEFORE, after, directories: [path] })).toMatchObject({
      same: 0,
      different: 2,
      undecided: 1,
      undecidable: new Map([
        ["arguments redacted", 1],
        ["tool not kept", 2],
        ["arguments forgotten", 1],
      ]),
    });
  });

  test("decides on denied calls, too", async () => {
    using directory = new TemporaryDirectory();
    {
      await using journal = await openJournal({ directory: directory.path });
      await journal.keep(BEFORE, [TOOL]);
      const canonical = new CanonicalJson(freezeJson({ path: "lib/a" }));
      journal.deny(denied("denied", { decision: "deny", definitionDigest: DIGEST, canonical }));
    }
    const diff = await diffPolicies({
      before: BEFORE,
      after: policyOf({ ...USE, name: "everything" }),
      directories: [directory.path],
    });
    expect(diff.changes).toMatchObject([{ change: "deny → allow", witness: { callId: "denied" } }]);
  });

  test("decides at the time of the record, for its principal and its session", async () => {
    using directory = new TemporaryDirectory();
    const { path } = directory;
    await record(path, ["src/a"], { sessionId: "s1", principal: { id: "eve", kind: "user" } });
    await record(path, ["src/a"], { sessionId: "s2", principal: { id: "adam", kind: "user" } });
    const same = async (rule: Partial<PolicyRule>): Promise<number> =>
      (
        await diffPolicies({
          before: policyOf({ ...USE, name: "all" }),
          after: policyOf({ ...USE, name: "some", ...rule } as PolicyRule),
          directories: [path],
        })
      ).same;
    expect(await same({ principals: ["eve"] })).toBe(1);
    expect(await same({ when: { "session/id": { equals: "s2" } } })).toBe(1);
    expect(await same({ until: "2999-01-01" })).toBe(2);
    expect(await same({ until: "2001-01-01" })).toBe(0);
  });

  test("does not decide on calls whose grant depends on a workspace, which is not recorded", async () => {
    using directory = new TemporaryDirectory();
    await record(directory.path, ["src/a", "lib/a"]);
    const after = policyOf(
      {
        ...USE,
        name: "in the workspace",
        when: { "/path": { prefix: "src/" } },
        capabilities: { fs: [{ workspace: true }] },
      },
      { ...USE, name: "libraries", when: { "/path": { prefix: "lib/" } } },
    );
    expect(await diffPolicies({ before: BEFORE, after, directories: [directory.path] })).toMatchObject({
      different: 1,
      undecidable: new Map([["workspace not recorded", 1]]),
    });
  });

  test("does not decide on calls by conditions on earlier calls, which it does not count", async () => {
    using directory = new TemporaryDirectory();
    await record(directory.path, ["src/a", "lib/a"]);
    const history = [{ count: ["*"], in: "session", lessThan: 3 }] as const;
    const after = policyOf({
      ...USE,
      name: "few",
      tools: ["*"],
      when: { "/path": { prefix: "src/" } },
      history,
    });
    expect(await diffPolicies({ before: BEFORE, after, directories: [directory.path] })).toMatchObject({
      undecidable: new Map([["history not recorded", expect.any(Number)]]),
    });
  });

  test("counts lines that are no records, but not a torn last line", async () => {
    using directory = new TemporaryDirectory();
    await record(directory.path, ["src/a"]);
    const [file = ""] = readdirSync(directory.path).filter((name) => name.endsWith(".jsonl"));
    const hostile = [
      '{"type":"tool.call.dispatched"',
      "[]",
      "null",
      '{"at":1,"seq":1,"prev":"","type":"x"}',
      "",
      `{"args":${"[".repeat(200_000)}${"]".repeat(200_000)},"argumentDigest":"${DIGEST}","at":1,"decision":"allow","definitionDigest":"${DIGEST}","policyRevision":"${BEFORE.revision}","prev":"","rules":[],"seq":9,"type":"tool.call.dispatched"}`,
    ];
    appendFileSync(join(directory.path, file), `${hostile.join("\n")}\n{"torn`);
    writeFileSync(join(directory.path, "tools", `${"c".repeat(64)}.json`), "not JSON");
    expect(
      await diffPolicies({ before: BEFORE, after: BEFORE, directories: [directory.path] }),
    ).toMatchObject({ same: 1, different: 0, changes: [], undecidable: new Map([["no valid record", 5]]) });
    expect((await replayJournal(directory.path)).undecidable.get("no valid record")).toBe(1);
  });

  test("compares joined policies", async () => {
    using directory = new TemporaryDirectory();
    await record(directory.path, ["src/a", "docs/a"]);
    const team = policyOf({ ...USE, name: "team", when: { "/path": { prefix: "src/" } } });
    const diff = await diffPolicies({
      before: BEFORE,
      after: strictest(BEFORE, team),
      directories: [directory.path],
    });
    expect(diff.changes).toMatchObject([{ change: "allow → deny", count: 1 }]);
  });

  test("decides by policies in Cedar on tools as they were recorded", async () => {
    using directory = new TemporaryDirectory();
    const { path } = directory;
    const schema = (name: string): PolicySubject["inputSchema"] => ({
      type: "object",
      properties: { [name]: { type: "string" } },
      required: [name],
    });
    const recorded = subjectOf(schema("path"));
    const older = subjectOf(schema("file"));
    {
      await using journal = await openJournal({ directory: path, sync: "none" });
      await journal.keep(BEFORE, [recorded, older]);
      for (const input of ["src/a", "docs/a", "lib/a"]) {
        const definitionDigest = recorded.definition?.digest ?? "";
        await journal.begin(dispatched(input, { path: input }, { definitionDigest }));
      }
      const definitionDigest = older.definition?.digest ?? "";
      await journal.begin(dispatched("old", { file: "src/a" }, { definitionDigest }));
    }
    // The tool has another argument in the meantime.
    const today = subjectOf({
      ...schema("path"),
      properties: { path: { type: "string" }, mode: { type: "string" } },
    });
    const cedar = await openCedarPolicy({
      policies: `@id("sources") permit (principal, action, resource)
        when { context.input.path like "src/*" };`,
      tools: [today],
      grants: { default: { sandboxes: ["host"] } },
    });
    const rules = policyOf({ ...USE, name: "sources", when: { "/path": { prefix: "src/" } } });
    expect(await diffPolicies({ before: rules, after: cedar, directories: [path] })).toMatchObject({
      same: 3,
      different: 0,
      undecidable: new Map([["tool changed", 1]]),
    });
    const joined = strictest(cedar, policyOf({ ...USE, name: "all" }));
    const { changes } = await diffPolicies({ before: BEFORE, after: joined, directories: [path] });
    expect(changes).toMatchObject([{ change: "allow → deny", before: ["docs"], after: [], count: 1 }]);
  });

  test("decides by policies in Cedar for each session, if they depend on it", async () => {
    using directory = new TemporaryDirectory();
    await record(directory.path, ["src/a"], { sessionId: "s1" });
    await record(directory.path, ["src/a"], { sessionId: "s2" });
    const open = (condition: string): Promise<CedarPolicy> =>
      openCedarPolicy({
        policies: `permit (principal, action, resource) when { ${condition} };`,
        tools: [TOOL],
        grants: { default: { sandboxes: ["host"] } },
      });
    const before = await open('resource.sideEffects == "write"');
    const same = async (condition: string): Promise<object> => {
      const options = { before, after: await open(condition), directories: [directory.path] };
      const { same: count, undecidable } = await diffPolicies(options);
      return [count, Object.fromEntries(undecidable)];
    };
    expect(await same('context.sessionId == "s2"')).toEqual([1, {}]);
    expect(await same("context has workspace")).toEqual([0, { "workspace not recorded": 2 }]);
  });

  test("requires policies that are data, and journals that can be read", async () => {
    using directory = new TemporaryDirectory();
    const directories = [directory.path];
    await expect(diffPolicies({ before: BEFORE, after: new HostPolicy(), directories })).rejects.toThrow(
      "a policy in code cannot be compared",
    );
    await expect(diffPolicies({ before: BEFORE, after: BEFORE, directories })).rejects.toThrow(
      "cannot be read",
    );
  });
});
