import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
import type { CallHistory } from "../../../src/policy/call-history.ts";
import type { PolicyDecision, PolicySubject } from "../../../src/policy/policy.ts";
import type { Principal } from "../../../src/policy/principal.ts";
import type { CallSelection, CapabilitySelection, Invariant } from "../../../src/policy/proof/invariant.ts";
import { prove } from "../../../src/policy/proof/prove.ts";
import type {
  AllowedUse,
  PolicyRule,
  RuleCondition,
  RulePolicyOptions,
} from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../../src/policy/strictest.ts";
import { compileSchema } from "../../../src/schema/compiled-schema.ts";

// Few names, values and times, which makes rules match often.
const NAMES = ["run_command", "read_file", "fetch"];
const TAGS = ["shell", "files"];
const SANDBOXES = ["host", "quickjs", "remote"] as const;
const CLASSES = ["read", "execute", "destructive"] as const;
const TEXTS = ["a", "b/c", "https://a.example.com/x", "https://evil.org/", "/srv/a.txt", ""];
const SCHEMA: JsonObject = { type: "object", properties: { n: { type: "integer" } } };
const ENDS = ["2020-01-01", "2030-01-01"];
const TIMES = ["2019-06-01", "2025-06-01", "2031-06-01"].map(Date.parse);

const tool: fc.Arbitrary<PolicySubject> = fc.record({
  name: fc.constantFrom(...NAMES),
  sideEffects: fc.constantFrom(...CLASSES),
  tags: fc.subarray(TAGS),
  sandboxes: fc.subarray([...SANDBOXES], { minLength: 1 }),
  inputSchema: fc.constant(SCHEMA),
});

const argument: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  fc.integer({ min: 0, max: 3 }),
  fc.constant(null),
  fc.array(fc.constantFrom(...TEXTS), { maxLength: 2 }),
);
const input = fc.record(
  { a: argument, b: argument, n: fc.integer({ min: 0, max: 3 }) },
  { requiredKeys: [] },
);
const simple: fc.Arbitrary<RuleCondition> = fc.oneof(
  fc.record({ equals: argument }),
  fc.record({ glob: fc.constantFrom("**", "b/*", "/srv/**") }),
  fc.record({ prefix: fc.constantFrom("https://", "/", "a") }),
  fc.record({ regex: fc.constantFrom("^a$", "c", "^(b|x)/[a-z]+$") }),
  fc.record({ range: fc.record({ min: fc.constantFrom(0, 2, { argument: "/n" } as const) }) }),
  fc.record({
    equals: fc.constantFrom({ principal: "/attributes/team" } as const, { argument: "/b" } as const),
  }),
);
const condition: fc.Arbitrary<RuleCondition> = fc.oneof(
  { weight: 3, arbitrary: simple },
  fc.record({ not: simple }),
  fc.record({ any: fc.array(simple, { minLength: 1, maxLength: 2 }) }),
);
const conditions = fc.dictionary(
  fc.constantFrom("/a", "/b", "/n", "/a/*", "principal/attributes/team", "session/id"),
  condition,
  { minKeys: 1, maxKeys: 2 },
);
const match = {
  tools: fc.array(fc.constantFrom("*", "read_*", ...NAMES), { minLength: 1, maxLength: 2 }),
  tags: fc.subarray(TAGS, { minLength: 1 }),
  sideEffects: fc.subarray([...CLASSES], { minLength: 1 }),
  when: conditions,
  principals: fc.subarray(["ann", "a*"], { minLength: 1 }),
  roles: fc.subarray(["admin", "dev"], { minLength: 1 }),
  until: fc.constantFrom(...ENDS),
  asked: fc.constantFrom("run", "^$"),
  absent: fc.constantFrom(["/a"], ["/b", "/n"]),
  history: fc.constantFrom(
    [{ count: ["*"], in: "session" as const, lessThan: 2 }],
    [{ sum: "/n", of: ["*"], within: "1h", atMost: 2, by: "principal" as const }],
    [{ after: ["fetch"], approved: true as const, in: "turn" as const }],
  ),
};
const origin = fc.constantFrom(
  "https://*.example.com",
  "https://evil.org",
  "https://*",
  "https://a.example.com",
);
const capabilities: fc.Arbitrary<NonNullable<AllowedUse["capabilities"]>> = fc.record(
  {
    env: fc.subarray(["A", "B"]),
    clock: fc.boolean(),
    tools: fc.subarray(["read_*", "fetch"]),
    secrets: fc.constant(["key"]),
    net: fc.array(
      fc.oneof(
        origin,
        fc.record({ argument: fc.constant("/a"), within: fc.array(origin, { minLength: 1, maxLength: 1 }) }),
      ),
      { maxLength: 2 },
    ),
    fs: fc.subarray(
      [
        { directory: "/srv", at: "/s" },
        { directory: "/srv/a", at: "/w", write: true },
        { workspace: true as const, at: "/work", write: true },
        { file: { argument: "/a" }, within: "/srv", at: "/f" },
        { file: { argument: "/b" }, within: "/srv/a", at: "/g", write: true },
      ],
      { maxLength: 2 },
    ),
    randomSeed: fc.constant("seed"),
  },
  { requiredKeys: [] },
);
const use = { sandboxes: fc.shuffledSubarray([...SANDBOXES], { minLength: 1 }), capabilities };
const CONDITIONS = [
  "when",
  "principals",
  "roles",
  "until",
  "tags",
  "sideEffects",
  "asked",
  "absent",
  "history",
] as readonly (keyof typeof match)[];
/** At most two conditions of each rule, so that rules often match. */
const matching = fc
  .subarray([...CONDITIONS], { maxLength: 2 })
  .chain((names) =>
    fc.record({ tools: match.tools, ...Object.fromEntries(names.map((name) => [name, match[name]])) }),
  );
const effect = fc.oneof(
  { weight: 5, arbitrary: fc.record({ effect: fc.constant("allow" as const), ...use }) },
  fc.record({ effect: fc.constantFrom("deny" as const, "ask" as const) }),
  fc.record({ effect: fc.constant("ask" as const), ...use }),
);
const rule = fc.tuple(matching, effect).map((parts): PolicyRule => Object.assign({}, ...parts));
const options: fc.Arbitrary<RulePolicyOptions> = fc.record(
  {
    rules: fc.array(rule, { minLength: 1, maxLength: 5 }),
    default: fc.oneof(
      fc.constant("deny" as const),
      fc.record(
        { ...use, effect: fc.constantFrom("allow" as const, "ask" as const) },
        { requiredKeys: ["sandboxes"] },
      ),
    ),
  },
  { requiredKeys: ["rules"] },
);

/** One or two members of these, which leaves many calls selected. */
function few<Members extends object>(members: { [Name in keyof Members]: fc.Arbitrary<Members[Name]> }) {
  return fc
    .subarray(Object.keys(members) as (keyof Members)[], { minLength: 1, maxLength: 2 })
    .chain((names) =>
      fc.record(Object.fromEntries(names.map((name) => [name, members[name]])) as typeof members),
    ) as fc.Arbitrary<Partial<Members>>;
}

const selection = few<CallSelection>({
  tools: fc.constantFrom(["*"], ["read_*"], ["run_command", "fetch"]),
  tags: match.tags,
  sideEffects: match.sideEffects,
  sandboxes: fc.subarray([...SANDBOXES], { minLength: 1 }),
  when: conditions as fc.Arbitrary<NonNullable<CallSelection["when"]>>,
  capabilities: few<CapabilitySelection>({
    env: fc.constantFrom("any" as const, ["A"]),
    clock: fc.constant("any" as const),
    tools: fc.constantFrom("any" as const, ["read_file"]),
    fs: fc.constantFrom("any" as const, "write" as const),
    net: fc.constantFrom("any" as const, { outside: ["https://*.example.com"] }),
    secrets: fc.constant("any" as const),
  }),
});
const invariant: fc.Arbitrary<Invariant> = fc.oneof(
  selection.map((never) => ({ never })),
  selection.map((each) => ({ always: { ...each, effect: "ask" as const } })),
);

const principal: fc.Arbitrary<Principal | undefined> = fc.option(
  fc.record(
    {
      id: fc.constantFrom("ann", "bob"),
      kind: fc.constant("user" as const),
      roles: fc.subarray(["admin", "dev"]),
      attributes: fc.record({ team: fc.constantFrom(...TEXTS) }),
    },
    { requiredKeys: ["id", "kind"] },
  ),
  { nil: undefined },
);
interface Call {
  readonly input: JsonValue;
  readonly principal: Principal | undefined;
  readonly sessionId: string;
  readonly at: number;
  readonly workspace: string | undefined;
  readonly history?: CallHistory | undefined;
}
const call: fc.Arbitrary<Call> = fc.record({
  input,
  principal,
  sessionId: fc.constantFrom(...TEXTS.filter((text) => text !== ""), "s"),
  at: fc.constantFrom(...TIMES),
  workspace: fc.constantFrom(undefined, "/srv", "/home"),
  history: fc.option(
    fc
      .record({ count: fc.nat(3), sum: fc.bigInt(0n, 4n * 10n ** 12n), isComplete: fc.boolean() })
      .chain((tally) =>
        fc.constantFrom("run it", "", undefined).map(
          (userText): CallHistory => ({
            ...(userText !== undefined && { userText }),
            ledger: { tally: () => tally },
          }),
        ),
      ),
    { nil: undefined },
  ),
});

type Decide = (subject: PolicySubject, call: Call) => PolicyDecision;

/** Asks a policy. A grant that contradicts itself denies the call. */
function decider(...joined: readonly RulePolicyOptions[]): Decide {
  let now = 0;
  const policy = strictest(...joined.map((rules) => new RulePolicy(rules, () => now)));
  return (subject, { at, input: args, ...rest }) => {
    now = at;
    const request = { callId: "c", ...rest, input: args, canonical: new CanonicalJson(args), tool: subject };
    try {
      return policy.check(request) as PolicyDecision;
    } catch {
      return { decision: "deny", reason: "" };
    }
  };
}

/** Whether a rule that allows what meets conditions allows a call. */
function meets(when: NonNullable<CallSelection["when"]>, subject: PolicySubject, each: Call): boolean {
  const rule = { tools: ["*"], when, effect: "allow", sandboxes: [...subject.sandboxes] } as const;
  return decider({ rules: [rule] })(subject, each).decision === "allow";
}

/** What an invariant means, written apart from the code that decides it. */
function breaks(decision: PolicyDecision, subject: PolicySubject, stated: Invariant, each: Call): boolean {
  const meant: CallSelection = "never" in stated ? stated.never : stated.always;
  if (decision.decision === "deny" || decision.grant === undefined) return false;
  if ("always" in stated && decision.decision !== "allow") return false;
  if (meant.when !== undefined && !meets(meant.when, subject, each)) return false;
  const names = meant.tools ?? [subject.name];
  if (!names.some((name) => new RegExp(`^${name.replace("*", ".*")}$`).test(subject.name))) return false;
  if (meant.tags !== undefined && !meant.tags.some((tag) => subject.tags?.includes(tag))) return false;
  if (meant.sideEffects !== undefined && !meant.sideEffects.includes(subject.sideEffects)) return false;
  const accepted = [decision.grant.sandbox, ...(decision.sandboxes ?? [])];
  if (meant.sandboxes !== undefined && !accepted.some((mode) => meant.sandboxes?.includes(mode)))
    return false;
  const { env, clock, tools, fs = [], net = [], secrets } = decision.grant.capabilities;
  const wanted = meant.capabilities ?? {};
  const origins = net.map((grant) => (typeof grant === "string" ? grant : grant.origin));
  const met = {
    env: wanted.env === "any" ? env !== undefined : env?.includes("A") === true,
    clock: clock === true,
    tools: wanted.tools === "any" ? tools !== undefined : tools?.includes("read_*") === true,
    fs: wanted.fs === "any" ? fs.length > 0 : fs.some(({ write }) => write),
    net: wanted.net === "any" ? net.length > 0 : origins.some((each) => !each.endsWith(".example.com")),
    secrets: secrets !== undefined,
  };
  return Object.keys(wanted).every((name) => met[name as keyof typeof met]);
}

/** `SANDGATE_PROOFS=10000` checks so many. */
const RUNS = Number(process.env["SANDGATE_PROOFS"] ?? 200);

describe("any policy, any tools and any invariant", () => {
  test(
    "no call violates an invariant that is proved, and every witness violates its invariant",
    () => {
      const verdicts = { proved: 0, broken: 0, undecided: 0 };
      fc.assert(
        fc.property(
          options,
          options,
          fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
          invariant,
          fc.array(call, { minLength: 8, maxLength: 16 }),
          (policy, other, tools, stated, calls) => {
            const [proof] = prove(policy, [stated], tools);
            if (proof === undefined) throw new Error("there is no proof");
            verdicts[proof.verdict]++;
            const decide = decider(policy);
            const together = decider(other, policy);
            for (const subject of tools) {
              for (const each of calls) {
                const decisions = [decide, together].map((decided) => decided(subject, each));
                const isBroken = decisions.some((decision) => breaks(decision, subject, stated, each));
                if (isBroken) expect(proof.verdict).not.toBe("proved");
              }
            }
            for (const { witness } of proof.failures) {
              if (witness === undefined) continue;
              const subject = tools.find(({ name }) => name === witness.tool) as PolicySubject;
              const again = { ...witness, workspace: "/workspace", principal: witness.principal };
              const decision = decide(subject, again);
              expect(decision).toEqual(witness.decision);
              expect(breaks(decision, subject, stated, again)).toBe(true);
              expect(compileSchema(subject.inputSchema).validate(witness.input)).toBeUndefined();
            }
          },
        ),
        { numRuns: RUNS },
      );
      // Otherwise the property would say little.
      expect(verdicts.proved).toBeGreaterThan(RUNS / 20);
      expect(verdicts.broken).toBeGreaterThan(RUNS / 20);
      expect(verdicts.undecided).toBeLessThan(verdicts.broken);
    },
    Math.max(120_000, RUNS * 200),
  );
});
