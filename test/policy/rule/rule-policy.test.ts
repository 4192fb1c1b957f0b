import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import { CAPABILITY_NAMES } from "../../../src/policy/grant/capabilities.ts";
import { LIMIT_NAMES } from "../../../src/policy/grant/limits.ts";
import type { PolicyDecision, PolicySubject } from "../../../src/policy/policy.ts";
import type { Principal } from "../../../src/policy/principal.ts";
import type { PolicyRule, RulePolicyOptions } from "../../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";

const READ_FILE: PolicySubject = {
  name: "read_file",
  sideEffects: "read",
  sandboxes: ["host", "quickjs"],
  inputSchema: {},
};

function check(
  policy: RulePolicy,
  input: JsonValue = {},
  tool: PolicySubject = READ_FILE,
  principal?: Principal,
): PolicyDecision {
  const call = { callId: "c", sessionId: "s", input, canonical: new CanonicalJson(input), tool };
  return policy.check({ ...call, ...(principal && { principal }) });
}

function decide(
  rules: readonly PolicyRule[],
  input: JsonValue = {},
  tool: PolicySubject = READ_FILE,
): PolicyDecision {
  return check(new RulePolicy({ rules }), input, tool);
}

const ALLOW: PolicyRule = { effect: "allow", tools: ["read_*"], sandboxes: ["quickjs"] };
const DENY_SECRETS: PolicyRule = {
  name: "no secrets",
  effect: "deny",
  tools: ["*"],
  when: { "/path": { glob: "/secret/**" } },
};

describe("a rule policy", () => {
  test("a rule policy denies calls that no rule matches", () => {
    expect(decide([])).toEqual({ decision: "deny", reason: "no rule allows this call" });
    expect(decide([{ ...ALLOW, tools: ["write_*", "read"] }])).toMatchObject({ decision: "deny" });
  });

  test("a rule policy allows calls that no rule matches only if the default allows them", () => {
    const policy = new RulePolicy({ rules: [DENY_SECRETS], default: { sandboxes: ["wasm", "host"] } });
    expect(check(policy)).toMatchObject({ decision: "allow", grant: { sandbox: "host", limits: {} } });
    expect(check(policy, { path: "/secret/a" })).toMatchObject({ decision: "deny" });
  });

  test("a rule policy grants the first listed sandbox in which the tool can run", () => {
    expect(decide([{ ...ALLOW, sandboxes: ["wasm", "quickjs", "host"] }])).toMatchObject({
      decision: "allow",
      grant: { sandbox: "quickjs", limits: {}, capabilities: {} },
    });
    expect(decide([{ ...ALLOW, sandboxes: ["wasm", "remote"] }])).toEqual({
      decision: "deny",
      reason: "the tool cannot run in any sandbox that all matching rules allow: 'rule 1'",
      rules: ["rule 1"],
    });
  });

  test("a rule matches the side effects that the tool declares", () => {
    expect(decide([{ ...ALLOW, sideEffects: ["none", "read"] }])).toMatchObject({ decision: "allow" });
    expect(decide([{ ...ALLOW, sideEffects: ["none"] }])).toMatchObject({ decision: "deny" });
  });

  test.each(["math.factorial", "fs/read", "a*b", "a\\b"])("a rule can name the tool %s", (name) => {
    const tool = { ...READ_FILE, name };
    const tools = [name.replace(/[*\\]/g, "\\$&")];
    const own: PolicyRule = { ...ALLOW, tools };
    expect(decide([own], {}, tool)).toMatchObject({ decision: "allow" });
    expect(decide([own], {}, { ...READ_FILE, name: "axb" })).toMatchObject({ decision: "deny" });
    const capabilities = { tools };
    expect(decide([{ ...own, capabilities }], {}, tool)).toMatchObject({ grant: { capabilities } });
  });

  test("a rule matches only if all its conditions are met", () => {
    const when = { "/path": { prefix: "/data/" }, "/depth": { range: { max: 3 } } };
    expect(decide([{ ...ALLOW, when }], { path: "/data/a", depth: 2 })).toMatchObject({ decision: "allow" });
    expect(decide([{ ...ALLOW, when }], { path: "/data/a", depth: 4 })).toMatchObject({ decision: "deny" });
    expect(decide([{ ...ALLOW, when }], { path: "/data/a" })).toMatchObject({ decision: "deny" });
  });

  test("the strictest matching rule wins, regardless of the order of rules", () => {
    const asking: PolicyRule = { name: "careful", effect: "ask", tools: ["read_file"] };
    const input = { path: "/secret/a" };
    expect(decide([ALLOW, asking])).toEqual({
      decision: "ask",
      question: "'careful' requires confirmation of this call",
      grant: { sandbox: "quickjs", limits: {}, capabilities: {} },
      rules: ["rule 1", "careful"],
    });
    expect(decide([asking, ALLOW])).toMatchObject({ decision: "ask" });
    expect(decide([ALLOW, asking, DENY_SECRETS], input)).toEqual({
      decision: "deny",
      reason: "'no secrets' denies this call",
      rules: ["no secrets"],
    });
    expect(decide([DENY_SECRETS, asking, ALLOW], input)).toMatchObject({ decision: "deny" });
  });

  test("a call is denied if matching permissions have no sandbox in common, even if a rule asks", () => {
    const rules: PolicyRule[] = [ALLOW, { ...ALLOW, sandboxes: ["wasm"] }, { effect: "ask", tools: ["*"] }];
    expect(decide(rules)).toMatchObject({ decision: "deny" });
  });

  test("a grant stays within every permission that matches the call", () => {
    const first: PolicyRule = {
      ...ALLOW,
      sandboxes: ["host", "quickjs"],
      limits: { wallTimeMs: 1_000, memoryBytes: 2_000_000 },
      capabilities: { env: ["A", "B"], clock: true },
    };
    const second: PolicyRule = {
      ...ALLOW,
      sandboxes: ["quickjs", "host"],
      limits: { wallTimeMs: 5_000, outputBytes: 10 },
      capabilities: { env: ["B", "C"], clock: true, random: true },
    };
    expect(decide([first, second])).toEqual({
      decision: "allow",
      grant: {
        sandbox: "host",
        limits: { wallTimeMs: 1_000, memoryBytes: 2_000_000, outputBytes: 10 },
        capabilities: { env: ["B"], clock: true },
      },
      sandboxes: ["host", "quickjs"],
      rules: ["rule 1", "rule 2"],
    });
    expect(decide([first, { ...second, sandboxes: ["wasm"] }])).toEqual({
      decision: "deny",
      reason: "the tool cannot run in any sandbox that all matching rules allow: 'rule 1', 'rule 2'",
      rules: ["rule 1", "rule 2"],
    });
  });

  test("the stricter decision applies if it is unclear whether a rule matches", () => {
    const unclear = { path: "/data/../secret/a" };
    const everything: PolicyRule = { ...ALLOW, limits: { wallTimeMs: 5_000 } };
    expect(decide([everything, DENY_SECRETS], unclear)).toEqual({
      decision: "deny",
      reason: "'no secrets' denies this call, because it is unclear whether the rule matches",
      rules: ["no secrets"],
    });
    for (const path of [["/secret/a"], 5, null, { secret: 1 }]) {
      expect(decide([everything, DENY_SECRETS], { path })).toMatchObject({ decision: "deny" });
    }
    expect(decide([{ ...DENY_SECRETS, effect: "ask" }], unclear)).toMatchObject({ decision: "ask" });
    expect(decide([{ ...ALLOW, when: { "/path": { prefix: "/" } } }], unclear)).toMatchObject({
      decision: "deny",
    });
  });

  test("a call cannot escape the limits of a permission by making its match unclear", () => {
    const narrow: PolicyRule = {
      ...ALLOW,
      when: { "/path": { glob: "/slow/**" } },
      limits: { wallTimeMs: 10 },
    };
    const wide: PolicyRule = { ...ALLOW, limits: { wallTimeMs: 9_000 } };
    const held = { decision: "allow", grant: { limits: { wallTimeMs: 10 } } };
    expect(decide([wide, narrow], { path: "/slow/./a" })).toMatchObject(held);
    const policy = new RulePolicy({ rules: [narrow], default: { sandboxes: ["quickjs"] } });
    expect(check(policy, { path: "/slow/./a" })).toMatchObject(held);
    expect(check(policy, { path: "/fast" })).toMatchObject({ decision: "allow", grant: { limits: {} } });
  });

  test("a rule with a condition does not match a call without the argument", () => {
    expect(decide([ALLOW, DENY_SECRETS], {})).toMatchObject({ decision: "allow" });
  });

  test("calls that match the same rules get the same frozen decision", () => {
    const policy = new RulePolicy({ rules: [ALLOW, DENY_SECRETS] });
    const decision = check(policy, { path: "/a" });
    expect(check(policy, { path: "/b" })).toBe(decision);
    expect(Object.isFrozen(decision)).toBe(true);
  });

  test("cached decisions for one combination of rules are not used for another", () => {
    const narrow: PolicyRule = {
      ...ALLOW,
      when: { "/path": { glob: "/slow/**" } },
      limits: { wallTimeMs: 10 },
    };
    const wide: PolicyRule = { ...ALLOW, limits: { wallTimeMs: 9_000 } };
    for (const rules of [
      [narrow, wide],
      [wide, narrow],
    ]) {
      const policy = new RulePolicy({ rules });
      for (const [path, wallTimeMs] of [["/slow/a", 10] as const, ["/fast", 9_000] as const]) {
        for (let i = 0; i < 2; i++)
          expect(check(policy, { path })).toMatchObject({ grant: { limits: { wallTimeMs } } });
      }
    }
  });

  test("cached decisions for a tool are not used for another tool of the same name", () => {
    const policy = new RulePolicy({
      rules: [{ ...ALLOW, sandboxes: ["wasm", "quickjs"], sideEffects: ["read"] }],
    });
    expect(check(policy)).toMatchObject({ grant: { sandbox: "quickjs" } });
    expect(check(policy, {}, { ...READ_FILE, sandboxes: ["wasm"] })).toMatchObject({
      grant: { sandbox: "wasm" },
    });
    expect(check(policy, {}, { ...READ_FILE, sideEffects: "write" })).toMatchObject({ decision: "deny" });
  });

  test("changing the rules that a policy was built from does not change the policy", () => {
    const rules: { tools: string[] }[] = [{ ...ALLOW, tools: ["read_file"] }];
    const policy = new RulePolicy({ rules: rules as unknown as PolicyRule[] });
    rules[0]?.tools.splice(0, 1, "nothing");
    rules.length = 0;
    expect(check(policy)).toMatchObject({ decision: "allow" });
  });

  test("equal rules have the same revision, and others another one", () => {
    const revision = (...rules: PolicyRule[]): string => new RulePolicy({ rules }).revision;
    expect(revision(ALLOW)).toMatch(/^[0-9a-f]{64}$/);
    expect(revision({ tools: ["read_*"], sandboxes: ["quickjs"], effect: "allow" })).toBe(revision(ALLOW));
    expect(revision(ALLOW, DENY_SECRETS)).not.toBe(revision(ALLOW));
  });

  test("a rule policy can have ten thousand rules", () => {
    const rules = Array.from({ length: 10_000 }, (_, i) => ({
      name: `rule of ${i}`,
      tools: [`tool_${i}`],
      effect: "deny" as const,
      when: { "/path": { prefix: "/etc/" } },
    }));
    expect(decide([...rules, ALLOW])).toMatchObject({ decision: "allow" });
  });

  test("a rule policy supports every limit and capability", () => {
    const value = {
      wallTimeMs: 1,
      memoryBytes: 1,
      outputBytes: 1,
      stackBytes: 1,
      logLines: 1,
      nestedCalls: 1,
      fileBytes: 1,
      netBytes: 1,
      cpuMs: 1,
      processes: 1,
      processMemoryBytes: 1,
      waitTimeMs: 1,
    };
    const capabilities = {
      env: ["A"],
      clock: true,
      random: true,
      tools: ["read_*"],
      fs: [{ directory: "/srv/data", at: "/data", write: true }],
      net: ["https://api.example.com", { origin: "http://*.test:*", addresses: ["10.0.0.0/8"] }],
      secrets: ["TOKEN"],
      keyValue: ["notes"],
      reuse: "instance" as const,
      engine: "jco" as const,
      frozenClock: 0,
      randomSeed: "",
    };
    expect(Object.keys(value)).toEqual([...LIMIT_NAMES]);
    expect(Object.keys(capabilities)).toEqual([...CAPABILITY_NAMES]);
    expect(decide([{ ...ALLOW, limits: value, capabilities }])).toMatchObject({
      grant: { limits: value, capabilities },
    });
  });
});

describe("the calls that a rule matches", () => {
  test("a rule can name tools by their tags, alone or together with names", () => {
    const tagged = { ...READ_FILE, tags: ["files", "slow"] };
    const byTag: PolicyRule = { effect: "allow", tags: ["memory", "files"], sandboxes: ["quickjs"] };
    expect(decide([byTag], {}, tagged)).toMatchObject({ decision: "allow", rules: ["rule 1"] });
    expect(decide([byTag], {}, READ_FILE)).toMatchObject({ decision: "deny" });
    expect(decide([{ ...byTag, tools: ["read_*"] }], {}, tagged)).toMatchObject({ decision: "allow" });
    expect(decide([{ ...byTag, tools: ["write_*"] }], {}, tagged)).toMatchObject({ decision: "deny" });
  });

  test("a rule can name principals and roles", () => {
    const ann: Principal = { id: "ci/ann", kind: "user", roles: ["maintainer"] };
    const bob: Principal = { id: "bob", kind: "service" };
    const byId = new RulePolicy({ rules: [{ ...ALLOW, principals: ["ci/*", "carol"] }] });
    expect(check(byId, {}, READ_FILE, ann)).toMatchObject({ decision: "allow" });
    expect(check(byId, {}, READ_FILE, bob)).toMatchObject({ decision: "deny" });
    const byRole = new RulePolicy({ rules: [{ ...ALLOW, roles: ["maintainer"] }] });
    expect(check(byRole, {}, READ_FILE, ann)).toMatchObject({ decision: "allow" });
    expect(check(byRole, {}, READ_FILE, bob)).toMatchObject({ decision: "deny" });
  });

  test("the stricter decision applies to a call without a principal", () => {
    const rule = { tools: ["*"], principals: ["bob"] };
    expect(decide([{ ...ALLOW, principals: ["bob"] }])).toMatchObject({ decision: "deny" });
    expect(decide([ALLOW, { ...rule, effect: "deny" }])).toMatchObject({ decision: "deny" });
    expect(decide([ALLOW, { ...rule, effect: "ask" }])).toMatchObject({ decision: "ask" });
    expect(decide([ALLOW, { tools: ["*"], roles: ["x"], effect: "deny" }])).toMatchObject({
      decision: "deny",
    });
  });

  test("a rule ends at its time", () => {
    let now = Date.parse("2026-12-31T16:59:59.999Z");
    const until = "2026-12-31T18:00:00+01:00";
    const rules: PolicyRule[] = [ALLOW, { tools: ["*"], effect: "deny", until }];
    const policy = new RulePolicy({ rules }, () => now);
    const permission = new RulePolicy({ rules: [{ ...ALLOW, until: "2026-12-31" }] }, () => now);
    expect(check(policy)).toMatchObject({ decision: "deny" });
    expect(check(permission)).toMatchObject({ decision: "deny" });
    now += 1;
    expect(check(policy)).toMatchObject({ decision: "allow" });
    now = Date.parse("2026-12-30T23:59:59Z");
    expect(check(permission)).toMatchObject({ decision: "allow" });
  });

  test("conditions can be combined with all and any", () => {
    const rule: PolicyRule = {
      ...ALLOW,
      when: {
        "/a": { equals: 1 },
        any: [{ "/b": { equals: 2 } }, { "/c": { equals: 3 }, "/d": { equals: 4 } }],
      },
    };
    expect(decide([rule], { a: 1, b: 2 })).toMatchObject({ decision: "allow" });
    expect(decide([rule], { a: 1, c: 3, d: 4 })).toMatchObject({ decision: "allow" });
    expect(decide([rule], { a: 1, c: 3 })).toMatchObject({ decision: "deny" });
    expect(decide([rule], { b: 2 })).toMatchObject({ decision: "deny" });
    const nested: PolicyRule = {
      ...ALLOW,
      when: { all: [{ "/a": { equals: 1 } }, { "/b": { equals: 2 } }] },
    };
    expect(decide([nested], { a: 1, b: 2 })).toMatchObject({ decision: "allow" });
    expect(decide([nested], { a: 1 })).toMatchObject({ decision: "deny" });
  });
});

describe("a rule that asks", () => {
  const asking: PolicyRule = { name: "careful", effect: "ask", tools: ["*"] };

  test("a default that asks has calls confirmed that no rule allows, and says which rule came near", () => {
    const small: PolicyRule = {
      name: "small files",
      tools: ["read_file"],
      effect: "allow",
      sandboxes: ["host"],
      when: { "/path": { prefix: "small/" } },
    };
    const policy = new RulePolicy({ rules: [small], default: { effect: "ask", sandboxes: ["quickjs"] } });
    const asks = { decision: "ask", grant: { sandbox: "quickjs" }, rules: ["default"] };
    expect(check(policy, { path: "large/a" })).toMatchObject({
      ...asks,
      question:
        "No rule allows this call without confirmation: 'small files' does not, because of /path (prefix)",
    });
    expect(check(policy, { path: "small/a" })).toMatchObject({ decision: "allow", rules: ["small files"] });
    const other = new RulePolicy({ rules: [], default: { effect: "ask", sandboxes: ["quickjs"] } });
    expect(check(other)).toMatchObject({
      ...asks,
      question: "No rule allows this call without confirmation",
    });
  });

  test("a rule that asks grants what the allowing rules that match give, or the default", () => {
    const limits = { wallTimeMs: 5 };
    const grant = { sandbox: "quickjs", limits, capabilities: {} };
    expect(decide([asking, { ...ALLOW, limits }])).toMatchObject({ decision: "ask", grant });
    const policy = new RulePolicy({ rules: [asking], default: { sandboxes: ["quickjs"], limits } });
    expect(check(policy)).toMatchObject({ decision: "ask", grant, rules: ["careful", "default"] });
  });

  test("a rule that asks grants its own sandboxes, within what the allowing rules give", () => {
    const own: PolicyRule = { ...asking, sandboxes: ["host", "quickjs"], limits: { wallTimeMs: 50 } };
    expect(decide([own])).toMatchObject({
      decision: "ask",
      grant: { sandbox: "host", limits: { wallTimeMs: 50 } },
    });
    expect(decide([own, { ...ALLOW, limits: { wallTimeMs: 5 } }])).toMatchObject({
      decision: "ask",
      grant: { sandbox: "quickjs", limits: { wallTimeMs: 5 } },
      rules: ["careful", "rule 2"],
    });
  });

  test("the decision has no grant if nothing grants anything for certain", () => {
    const when = { "/path": { prefix: "/a" } } as const;
    const input = { path: "/a/../b" };
    for (const rules of [[asking], [asking, { ...ALLOW, when }]]) {
      const decision = decide(rules, input);
      expect(decision).toMatchObject({ decision: "ask", rules: ["careful"] });
      expect(decision).not.toHaveProperty("grant");
    }
    const own: PolicyRule = { ...asking, when, sandboxes: ["host"] };
    expect(decide([own], input)).not.toHaveProperty("grant");
    expect(decide([own], { path: "/a/b" })).toHaveProperty("grant");
  });

  test("a rule can say what is asked and why, and every asking rule is heard", () => {
    const question = "Delete it for good?";
    const rules: PolicyRule[] = [
      { ...asking, question },
      { ...asking, name: "audit", reason: "SOX-7" },
    ];
    expect(decide(rules)).toMatchObject({
      question: `${question}\n'audit' requires confirmation of this call: SOX-7`,
      rules: ["careful", "audit"],
    });
    expect(decide([{ ...DENY_SECRETS, when: {}, reason: "SEC-1" }])).toMatchObject({
      reason: "'no secrets' denies this call: SEC-1",
    });
  });

  test("an approval is remembered only if every rule that asks allows it", () => {
    const remembering: PolicyRule = { ...asking, name: "lenient", remember: "session" };
    expect(decide([remembering])).toMatchObject({ remember: "session" });
    expect(decide([remembering, asking])).not.toHaveProperty("remember");
  });
});

describe("a denial by default", () => {
  test("a denial by default names the rules that came near, and what they missed", () => {
    const rules: PolicyRule[] = [
      { ...ALLOW, name: "both", when: { "/path": { glob: "/a/**" }, "/depth": { range: { max: 1 } } } },
      { ...ALLOW, name: "unclear", when: { "/path": { prefix: "/secret" } } },
      { ...ALLOW, name: "class", sideEffects: ["none"] },
      { ...ALLOW, name: "tag", tags: ["x"] },
      { ...ALLOW, name: "who", principals: ["ann"], roles: ["r"] },
      { ...ALLOW, name: "elsewhere", tools: ["write_*"] },
    ];
    const { near } = decide(rules, { path: "/b/./a", depth: 9 }) as { near?: unknown };
    expect(near).toEqual([
      { rule: "unclear", missed: "/path (prefix), unclear" },
      { rule: "class", missed: "sideEffects" },
      { rule: "tag", missed: "tags" },
      { rule: "both", missed: "/path (glob), unclear; /depth (range)" },
      { rule: "who", missed: "principals, unclear; roles, unclear" },
    ]);
  });

  test("at most five near misses are named", () => {
    const rules = Array.from({ length: 100 }, () => ({ ...ALLOW, when: { "/a": { equals: 1 } } }));
    expect((decide(rules) as { near?: unknown[] }).near).toHaveLength(5);
  });
});

describe("invalid rule policies", () => {
  const named = { ...ALLOW, name: "reading" };
  test.each<[string, unknown, RegExp]>([
    ["no options", undefined, /JSON/],
    ["no rules", {}, /'rules' is missing/],
    [
      "an unknown member",
      { rules: [{ ...named, efect: 1 }] },
      /^rule 1 \('reading'\): \/efect unknown key 'efect': did you mean 'effect'/,
    ],
    ["no tools", { rules: [named, { ...ALLOW, tools: [] }] }, /^rule 2: \/tools must not be empty$/],
    [
      "a pattern that no tool name can match",
      { rules: [{ ...ALLOW, tools: ["read file?"] }] },
      /\/tools\/0 must be a tool name/,
    ],
    ["an unknown effect", { rules: [{ effect: "alow", tools: ["a"] }] }, /must be one of allow, deny, ask/],
    [
      "a permission without a sandbox",
      { rules: [{ effect: "allow", tools: ["a"] }] },
      /'sandboxes' is missing/,
    ],
    [
      "an unknown sandbox",
      { rules: [{ ...ALLOW, sandboxes: ["docker"] }] },
      /one of host, wasm, quickjs, process, microvm, remote/,
    ],
    [
      "limits on a denial",
      { rules: [{ effect: "deny", tools: ["a"], limits: {} }] },
      /only a rule with the effect/,
    ],
    [
      "a limit of zero",
      { rules: [{ ...ALLOW, limits: { wallTimeMs: 0 } }] },
      /\/limits\/wallTimeMs must be >= 1/,
    ],
    [
      "an unknown capability",
      { rules: [{ ...ALLOW, capabilities: { teleport: true } }] },
      /unknown key 'teleport'/,
    ],
    [
      "an invalid pointer",
      { rules: [{ ...ALLOW, when: { path: { equals: 1 } } }] },
      /must be a JSON pointer/,
    ],
    [
      "two conditions in one",
      { rules: [{ ...ALLOW, when: { "/a": { equals: 1, prefix: "x" } } }] },
      /exactly one of/,
    ],
    ["no condition", { rules: [{ ...ALLOW, when: { "/a": {} } }] }, /exactly one of/],
    [
      "an invalid glob",
      { rules: [{ ...ALLOW, when: { "/a": { glob: ["/x", "[a"] } } }] },
      /\/when\/~1a\/glob\/1 a '\[' in a glob/,
    ],
    ["a negated glob", { rules: [{ ...ALLOW, when: { "/a": { glob: "!/x" } } }] }, /cannot be negated/],
    [
      "an empty range",
      { rules: [{ ...ALLOW, when: { "/a": { range: { min: 2, max: 1 } } } }] },
      /the range is empty/,
    ],
    ["not a number", { rules: [{ ...ALLOW, when: { "/a": { range: { min: Number.NaN } } } }] }, /finite/],
    [
      "a duplicate name",
      { rules: [named, named] },
      /rule 2 \('reading'\): \/name the name 'reading' is already used/,
    ],
    ["an invalid default", { rules: [], default: "allow" }, /\/default must be 'deny', or a map/],
    [
      "two directories at the same path",
      {
        rules: [],
        default: { sandboxes: ["wasm"], capabilities: { fs: [{ directory: "/a" }, { directory: "/b" }] } },
      },
      /default.*two things at the same path/,
    ],
    ["a function", { rules: [{ ...ALLOW, when: () => true }] }, /function/],
    ["neither tools nor tags", { rules: [{ effect: "deny" }] }, /'tools' is missing/],
    [
      "limits of a rule that asks, without sandboxes",
      { rules: [{ effect: "ask", tools: ["a"], limits: {} }] },
      /'sandboxes' is missing/,
    ],
    [
      "a question of a rule that allows",
      { rules: [{ ...ALLOW, question: "Sure?" }] },
      /only a rule with the effect 'ask' can have this/,
    ],
    ["another time to remember", { rules: [{ effect: "ask", tools: ["a"], remember: "day" }] }, /'session'/],
    ["a day that does not exist", { rules: [{ ...ALLOW, until: "2026-02-30" }] }, /no such date/],
    ["a time without a zone", { rules: [{ ...ALLOW, until: "2026-02-03T10:00" }] }, /with its zone/],
    ["an invalid regex", { rules: [{ ...ALLOW, when: { "/a": { regex: "(" } } }] }, /regex .*regular/],
    [
      "a regex that does not run in linear time",
      { rules: [{ ...ALLOW, when: { any: [{ "/a": { not: { regex: "(a)\\1" } } }] } }] },
      /\/when\/any\/0\/~1a\/not\/regex /,
    ],
    ["an empty any", { rules: [{ ...ALLOW, when: { any: [] } }] }, /must not be empty/],
    [
      "a limit that no number can hold",
      { rules: [{ ...ALLOW, limits: { logLines: 1e300 } }] },
      /\/limits\/logLines must be <= 9007199254740991/,
    ],
  ])("a rule policy is rejected, with a message that locates the problem: %s", (_case, options, message) => {
    expect(() => new RulePolicy(options as RulePolicyOptions)).toThrow(message);
    expect(() => new RulePolicy(options as RulePolicyOptions)).toThrow(TypeError);
  });
});
