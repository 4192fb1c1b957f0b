import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigSource } from "../../src/config/source.ts";
import type { DispatchedRecord } from "../../src/engine/call/journal.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { type LearnedPolicy, learnPolicy } from "../../src/journal/read/learn-policy.ts";
import { CanonicalJson } from "../../src/json/canonical.ts";
import type { JsonObject } from "../../src/json/value.ts";
import type { ArgumentSources } from "../../src/policy/call-history.ts";
import { readPolicy } from "../../src/policy/file/read.ts";
import type { RulePolicyOptions } from "../../src/policy/rule/rule.ts";
import { sandgate } from "../cli/sandgate.ts";
import { tool } from "../sessions/harness.ts";
import { dispatched, TemporaryDirectory } from "./records.ts";

const POLICY = readPolicy(
  ConfigSource.parse(
    `
untrusted: [{ tool: list_mail, fields: [/*/body] }]
rules:
  - { name: all, tools: ["*"], effect: allow, sandboxes: [host], limits: { wallTime: 2s } }
  - { name: asks, tools: [pay], effect: ask, sandboxes: [host] }
`,
    "p.yaml",
  ),
  [],
).policy;

const SCHEMA = {
  type: "object",
  properties: { to: { type: "string" }, amount: { type: "number" }, note: { type: "string" } },
};
const registry = new ToolRegistry();
for (const name of ["pay", "list_mail", "list_contacts"]) {
  registry.register({ ...tool(name, "write"), inputSchema: SCHEMA });
}
registry.register({ ...tool("wipe", "destructive"), inputSchema: SCHEMA });

const CONTACT = [{ tool: "list_contacts", field: "/*/email" }];

/** A call that ran, as its record describes it. */
interface Given extends Partial<DispatchedRecord> {
  readonly tool?: string;
  readonly session: string;
  readonly args: JsonObject;
  readonly sources?: ArgumentSources;
}

/** Records calls, and learns from them. */
async function learnt(
  calls: readonly Given[],
  more: { readonly exclude?: readonly string[]; readonly base?: RulePolicyOptions } = {},
): Promise<LearnedPolicy> {
  using directory = new TemporaryDirectory();
  await record(directory.path, calls);
  const { exclude = [], base } = more;
  return await learnPolicy({
    places: [directory.path],
    exclude: new Set(exclude),
    ...(base && { base }),
  });
}

async function record(directory: string, calls: readonly Given[]): Promise<void> {
  await using journal = await openJournal({ directory, sources: true });
  await journal.keep(POLICY, registry.subjects);
  for (const [index, { tool: name = "pay", session, args, ...others }] of calls.entries()) {
    const subject = registry.find(name)?.subject;
    await journal.begin(
      dispatched(`c${index}`, args, {
        toolName: name,
        sessionId: session,
        canonical: new CanonicalJson(args),
        sideEffects: subject?.sideEffects ?? "write",
        definitionDigest: subject?.definition?.digest ?? "",
        policyRevision: POLICY.revision,
        decision: "allow",
        rules: ["all"],
        ...others,
      }),
    );
  }
}

const fromUser: ArgumentSources = { "/to": "user", "/amount": "user" };
const three: readonly Given[] = [
  { session: "a", args: { to: "ann@x.example", amount: 5 }, sources: fromUser },
  { session: "b", args: { to: "bob@x.example", amount: 50 }, sources: fromUser },
  { session: "b", args: { to: "carl@x.example", amount: 7 }, sources: fromUser },
];

describe("A policy is learnt from recorded calls", () => {
  test("values of known source are generalised by their source, range and domain, and other arguments stay absent", async () => {
    const { rules, left, untrusted } = await learnt(three);
    expect(rules.map(({ rule }) => rule)).toEqual([
      {
        name: "learned: pay",
        tools: ["pay"],
        absent: ["/note"],
        when: {
          "/to": { all: [{ from: ["user"] }, { regex: "@x\\.example$" }] },
          "/amount": { all: [{ from: ["user"] }, { range: { min: 5, max: 50 } }] },
        },
        effect: "allow",
        sandboxes: ["host"],
        limits: { wallTimeMs: 2_000 },
      },
    ]);
    expect(rules[0]).toMatchObject({ calls: 3, sessions: 2 });
    expect(left).toEqual(new Map());
    expect(untrusted).toEqual([{ tool: "list_mail", fields: ["/*/body"] }]);
  });

  test.each<[string, readonly Given[]]>([
    ["two different values", three.slice(0, 2)],
    ["one session", three.map((each) => ({ ...each, session: "a" }))],
    ["values of unknown source", three.map((each) => ({ ...each, sources: {} }))],
    [
      "one argument of unknown source",
      three.map((each) => ({ ...each, sources: { "/to": "user" as const } })),
    ],
  ])("%s are not enough", async (_, calls) => {
    expect((await learnt(calls)).rules).toEqual([]);
  });

  test("values of unknown source are allowed as they are, if they were in two sessions", async () => {
    const calls = ["a", "b"].map((session) => ({ session, args: { to: "ann", amount: 5 } }));
    const { rules, left } = await learnt([...calls, { session: "c", args: { to: "eve", amount: 5 } }]);
    expect(rules.map(({ rule }) => rule.when)).toEqual([
      { "/to": { equals: "ann" }, "/amount": { equals: 5 } },
    ]);
    expect(rules[0]).toMatchObject({ calls: 2, witness: undefined });
    expect(left).toEqual(new Map([["no rule covers it", 1]]));
  });

  test("what an outsider wrote is not evidence, nor what the policy marks today", async () => {
    const outsiders: readonly Given[] = [
      ...three.map((each) => ({ ...each, sources: { ...fromUser, "/to": "untrusted" as const } })),
      ...three.map((each) => ({
        ...each,
        sources: { ...fromUser, "/to": [{ tool: "list_mail", field: "/*/body" }] },
      })),
    ];
    const { rules, left } = await learnt(outsiders);
    expect([rules, left]).toEqual([[], new Map([["from an outsider", 6]])]);
  });

  test("fields of results are sources only if a policy says what outsiders can write", async () => {
    const calls = three.map((each) => ({ ...each, sources: { ...fromUser, "/to": CONTACT } }));
    const [first] = (await learnt(calls)).rules;
    expect(first?.rule.when?.["/to"]).toEqual({ all: [{ from: CONTACT }, { regex: "@x\\.example$" }] });
    const base: RulePolicyOptions = {
      rules: [{ name: "all", tools: ["*"], effect: "allow", sandboxes: ["host"] }],
    };
    expect((await learnt(calls, { base })).rules).toEqual([]);
  });

  test("nothing is proposed for the class destructive", async () => {
    const { rules, left } = await learnt(three.map((each) => ({ ...each, tool: "wipe" })));
    expect([rules, left]).toEqual([[], new Map([["destructive", 3]])]);
  });

  const asked = { decision: "ask", rules: ["asks"] } as const;
  const answer = { by: "ann", decision: "allow" } as const;
  test.each<[string, Partial<DispatchedRecord>, string | undefined]>([
    ["a person after two seconds", { ...asked, answer: { ...answer, afterMs: 2_000 } }, undefined],
    ["a person before that", { ...asked, answer: { ...answer, afterMs: 1_999 } }, "allowed unread"],
    ["a person at a time that is not known", { ...asked, answer }, "allowed unread"],
    ["an approval", { policyDecision: "ask" }, "not allowed by a rule or a person"],
    ["the default", { rules: [] }, "not allowed by a rule or a person"],
    ["a rule that the policy does not have", { rules: ["other"] }, "not allowed by a rule or a person"],
    ["a rule that asks", { rules: ["asks"] }, "not allowed by a rule or a person"],
  ])("allowed by %s", async (_, more, cause) => {
    const { rules, left } = await learnt(three.map((each) => ({ ...each, ...more })));
    expect(left).toEqual(cause === undefined ? new Map() : new Map([[cause, 3]]));
    expect(rules.length).toBe(cause === undefined ? 1 : 0);
  });

  test("sessions can be excluded, and redacted arguments are counted", async () => {
    const secret = { session: "a", args: { to: "AKIAIOSFODNN7EXAMPLE", amount: 1 } };
    const { rules, left } = await learnt([...three, secret], { exclude: ["b"] });
    expect(rules).toEqual([]);
    expect(left).toEqual(
      new Map([
        ["excluded", 2],
        ["arguments redacted or sealed", 1],
        ["no rule covers it", 1],
      ]),
    );
  });

  test("the order of the calls changes nothing but the examples", async () => {
    const contacts = three.map((each) => ({ ...each, tool: "list_contacts", sources: fromUser }));
    const all = [...three, ...contacts];
    const [one, other] = [await learnt(all), await learnt(all.toReversed())];
    expect(one.rules.map(({ rule }) => rule)).toEqual(other.rules.map(({ rule }) => rule));
  });
});

const CONFIG = `
tools:
${["pay", "list_contacts"]
  .map(
    (name) => `  - name: ${name}
    description: Does it
    inputSchema: ${JSON.stringify(SCHEMA)}
    sideEffects: write
    host: { module: tools.mjs, export: run, thread: false }
`,
  )
  .join("")}
policy: { rules: [] }
`;

describe("sandgate policy learn", () => {
  test("writes a policy that 'policy test' runs, with a test and a witness of each rule", async () => {
    using directory = new TemporaryDirectory();
    const place = join(directory.path, "records");
    const contacts = three.map((each) => ({ ...each, sources: { ...fromUser, "/to": CONTACT } }));
    await record(place, [
      ...contacts,
      { tool: "list_contacts", session: "a", args: { to: "x" } },
      { tool: "list_contacts", session: "b", args: { to: "x" } },
    ]);
    const { writeFile } = await import("node:fs/promises");
    await writeFile(join(directory.path, "sandgate.yaml"), CONFIG);
    await writeFile(join(directory.path, "tools.mjs"), "export const run = () => 1;");
    const out = join(directory.path, "proposal.yaml");
    const argv = ["policy", "learn", "--journal", place, "--out", out];
    const cases = join(directory.path, "proposal.policy-test.yaml");
    expect(await sandgate(argv)).toMatchObject({
      code: 0,
      stdout: `2 rules allow 5 of 5 calls\nwrote ${out}, and ${cases} with a test of each rule\n`,
    });
    expect(await readFile(out, "utf8")).toContain(
      '# Evidence: 3 calls in 2 sessions.\n  # Also allowed: {"amount":27,"to":"ann@x.example"}',
    );
    const config = join(directory.path, "sandgate.yaml");
    const test = ["policy", "test", cases, "--config", config];
    const tested = await sandgate([...test, "--policy", out]);
    expect([tested.stdout, tested.code]).toEqual(["3 cases are decided as expected\n", 0]);
    expect((await sandgate(test)).code).toBe(1);
    expect((await sandgate(argv)).stderr).toContain("exists: remove it");
  });

  test("exits with 1 if nothing can be learnt, and writes nothing", async () => {
    using directory = new TemporaryDirectory();
    const place = join(directory.path, "records");
    await record(place, [{ session: "a", args: { to: "x" } }]);
    const out = join(directory.path, "proposal.yaml");
    expect(await sandgate(["policy", "learn", "--journal", place, "--out", out])).toMatchObject({
      code: 1,
      stdout: "0 rules allow 0 of 1 calls\n  1: no rule covers it\n",
    });
    await expect(readFile(out)).rejects.toThrow("ENOENT");
  });
});
