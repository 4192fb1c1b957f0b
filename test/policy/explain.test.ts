import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../src/json/canonical.ts";
import type { JsonValue } from "../../src/json/value.ts";
import { DefaultPolicy } from "../../src/policy/default-policy.ts";
import { allow, deny, HostPolicy, type PolicyRequest, type RuntimePolicy } from "../../src/policy/policy.ts";
import type { PolicyRule } from "../../src/policy/rule/rule.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../src/policy/strictest.ts";

function request(input: JsonValue, others: Partial<PolicyRequest> = {}): PolicyRequest {
  return {
    callId: "c",
    sessionId: "s",
    input,
    canonical: new CanonicalJson(input),
    tool: { name: "read_file", sideEffects: "read", sandboxes: ["host", "quickjs"], inputSchema: {} },
    ...others,
  };
}

const RULES: readonly PolicyRule[] = [
  {
    name: "sources",
    tools: ["read_*"],
    effect: "allow",
    when: { "/path": { glob: "src/**" } },
    sandboxes: ["quickjs", "host"],
    limits: { wallTimeMs: 900, outputBytes: 100 },
    capabilities: { clock: true, random: true },
  },
  {
    name: "everything",
    tools: ["*"],
    effect: "allow",
    sandboxes: ["host", "quickjs"],
    limits: { wallTimeMs: 500 },
    capabilities: { clock: true },
  },
  { name: "staff", tools: ["read_file"], effect: "ask", principals: ["staff:*"], roles: ["admin"] },
  { name: "writes", tools: ["read_file"], sideEffects: ["write"], effect: "deny" },
  { name: "tagged", tags: ["secret"], effect: "deny" },
  { name: "other tool", tools: ["write_file"], effect: "deny" },
];

describe("An explanation of a policy of rules", () => {
  const policy = new RulePolicy({ rules: RULES });

  test("lists the rules that name the tool in order, and why each of them matched or not", () => {
    const { rules } = policy.explain(request({ path: "lib/secret-name.ts" }));
    expect(rules).toEqual([
      { name: "sources", effect: "allow", matched: "no", why: "not met: /path (glob)" },
      { name: "everything", effect: "allow", matched: "yes", why: "every call of the tool matches" },
      { name: "staff", effect: "ask", matched: "unclear", why: "unclear: principals, roles" },
      { name: "writes", effect: "deny", matched: "no", why: "the tool has none of the rule's sideEffects" },
    ]);
    const staff = { id: "staff:eve", kind: "user" } as const;
    expect(policy.explain(request({ path: "src/a.ts" }, { principal: staff })).rules.slice(0, 3)).toEqual([
      { name: "sources", effect: "allow", matched: "yes", why: "every condition is met" },
      { name: "everything", effect: "allow", matched: "yes", why: "every call of the tool matches" },
      { name: "staff", effect: "ask", matched: "no", why: "not met: roles" },
    ]);
  });

  test("repeats no argument in its texts", () => {
    const { rules } = policy.explain(request({ path: "src/../SECRET" }));
    expect(rules[0]?.matched).toBe("unclear");
    expect(JSON.stringify(rules)).not.toContain("SECRET");
  });

  test("says from which rules the sandbox, the limits and the capabilities come", () => {
    const guest = { id: "guest:mallory", kind: "user" } as const;
    expect(policy.explain(request({ path: "src/a.ts" }, { principal: guest }))).toMatchObject({
      decision: { decision: "allow", grant: { sandbox: "quickjs", capabilities: { clock: true } } },
      sandbox: "sources",
      limits: { wallTimeMs: "everything", outputBytes: "sources" },
      capabilities: { clock: ["sources", "everything"] },
      withheld: { random: ["everything"] },
    });
  });

  test("names the default of the policy if no rule grants anything", () => {
    const byDefault = new RulePolicy({
      rules: [],
      default: { sandboxes: ["host"], limits: { outputBytes: 9 } },
    });
    expect(byDefault.explain(request({}))).toMatchObject({
      rules: [],
      sandbox: "default",
      limits: { outputBytes: "default" },
    });
  });

  test("names no origins for a denied call", () => {
    const denied = policy.explain(request({}, { tool: { ...request({}).tool, sideEffects: "write" } }));
    expect(denied).toMatchObject({ decision: { decision: "deny" }, limits: {}, capabilities: {} });
    expect(denied).not.toHaveProperty("sandbox");
  });

  test("is byte-equal for equal policies and calls", () => {
    const text = (): string =>
      JSON.stringify(new RulePolicy({ rules: RULES }).explain(request({ path: "src/a.ts" })));
    expect(text()).toBe(text());
  });
});

describe("An explanation of another policy", () => {
  test("names the rule of a DefaultPolicy", () => {
    const policy = new DefaultPolicy({
      rules: { read_file: { allowed: true, sandbox: "quickjs", limits: { wallTimeMs: 5 } } },
    });
    expect(policy.explain(request({}))).toMatchObject({
      rules: [{ name: "read_file", effect: "allow", matched: "yes", why: "the rule names the tool" }],
      sandbox: "read_file",
      limits: { wallTimeMs: "read_file" },
    });
    const unknown = request({}, { tool: { ...request({}).tool, name: "toString" } });
    expect(policy.explain(unknown)).toMatchObject({
      decision: { decision: "deny" },
      rules: [{ name: "default", effect: "deny", matched: "yes", why: "no rule names the tool" }],
    });
  });

  test("has the decision of a HostPolicy, which has no rules", () => {
    const policy = new HostPolicy();
    expect(policy.explain()).toMatchObject({ decision: policy.check(), rules: [] });
  });
});

describe("An explanation of joined policies", () => {
  const rules = new RulePolicy({ rules: RULES.slice(0, 1) });
  const calls = request({ path: "src/a.ts" });

  test("has the rules and the origins of all, and the joined decision", async () => {
    const team = new RulePolicy({
      rules: [
        {
          name: "team",
          tools: ["*"],
          effect: "allow",
          sandboxes: ["host"],
          limits: { wallTimeMs: 10 },
          capabilities: { random: true },
        },
      ],
    });
    const policy = strictest(rules, team);
    const explanation = await policy.explain?.(calls);
    expect(explanation?.decision).toEqual(await policy.check(calls));
    expect(explanation).toMatchObject({
      rules: [{ name: "sources" }, { name: "team" }],
      sandbox: "team",
      limits: { wallTimeMs: "team", outputBytes: "sources" },
      capabilities: { random: ["sources", "team"] },
      withheld: { clock: ["team"] },
    });
  });

  test("has only the decision of a policy that explains nothing, even if that is a promise", async () => {
    const inCode: RuntimePolicy = {
      check: () =>
        Promise.resolve(
          allow({ sandbox: "quickjs", limits: { wallTimeMs: 1 }, capabilities: { clock: true } }),
        ),
    };
    expect(await strictest(rules, inCode).explain?.(calls)).toMatchObject({
      decision: { decision: "allow" },
      rules: [{ name: "sources" }],
      limits: { wallTimeMs: "a policy in code", outputBytes: "sources" },
      capabilities: { clock: ["sources", "a policy in code"] },
      withheld: { random: ["a policy in code"] },
    });
    const denying: RuntimePolicy = { check: () => deny("no") };
    expect(await strictest(rules, denying).explain?.(calls)).toMatchObject({
      decision: { decision: "deny", reason: "no" },
      rules: [{ name: "sources" }],
      limits: {},
    });
  });

  test("fails if one of them throws, like the decision", () => {
    const throwing: RuntimePolicy = {
      check: () => {
        throw new Error("broken");
      },
    };
    expect(() => strictest(rules, throwing).explain?.(calls)).toThrow("broken");
  });
});
