import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../src/json/canonical.ts";
import {
  allow,
  ask,
  deny,
  HostPolicy,
  type PolicyDecision,
  type PolicyRequest,
  type RuntimePolicy,
} from "../../src/policy/policy.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../src/policy/strictest.ts";

const REQUEST: PolicyRequest = {
  callId: "c",
  sessionId: "s",
  input: {},
  canonical: new CanonicalJson({}),
  tool: { name: "read_file", sideEffects: "read", sandboxes: ["host", "quickjs", "wasm"], inputSchema: {} },
};
const always = (answer: unknown): RuntimePolicy => ({ check: () => answer as PolicyDecision });

describe("strictest", () => {
  test("the policies of an organisation and a team share the sandboxes that both accept", () => {
    const org = new RulePolicy({
      rules: [
        {
          name: "org",
          tools: ["*"],
          effect: "allow",
          sandboxes: ["wasm", "quickjs"],
          limits: { wallTimeMs: 9 },
        },
      ],
    });
    const team = new RulePolicy({
      rules: [{ name: "team", tools: ["read_*"], effect: "allow", sandboxes: ["host", "quickjs"] }],
    });
    const policy = strictest(org, team);
    expect(policy.check(REQUEST)).toEqual({
      decision: "allow",
      grant: { sandbox: "quickjs", limits: { wallTimeMs: 9 }, capabilities: {} },
      rules: ["org", "team"],
    });
    expect(policy.check(REQUEST)).toBe(policy.check(REQUEST));
    expect(strictest(org, new HostPolicy()).check(REQUEST)).toEqual({
      decision: "deny",
      reason: "the policies accept no sandbox in common for this call",
      rules: ["org"],
    });
  });

  test("deny wins over ask, and ask over allow", () => {
    const permission = always(allow({ sandbox: "host" }, { rules: ["a"] }));
    const question = always(ask("Sure?", { grant: { sandbox: "host" }, rules: ["b"], remember: "session" }));
    const denial = always(deny("no", { rules: ["c"] }));
    expect(strictest(permission, question).check(REQUEST)).toMatchObject({
      decision: "ask",
      question: "Sure?",
      rules: ["a", "b"],
      remember: "session",
      grant: { sandbox: "host" },
    });
    expect(strictest(permission, question, denial).check(REQUEST)).toMatchObject({
      decision: "deny",
      rules: ["c"],
    });
  });

  test("all questions are asked, and one without a grant leaves none", () => {
    const first = always(ask("First?", { grant: { sandbox: "host" }, remember: "session" }));
    const second = always(ask("Second?"));
    expect(strictest(first, second).check(REQUEST)).toEqual({ decision: "ask", question: "First?\nSecond?" });
  });

  test("a policy may answer later", async () => {
    const later = always(Promise.resolve(deny("late")));
    const decision = strictest(new HostPolicy(), later).check(REQUEST);
    expect(decision).toBeInstanceOf(Promise);
    expect(await decision).toEqual({ decision: "deny", reason: "late" });
  });

  test.each<[string, RuntimePolicy]>([
    [
      "throws",
      {
        check: () => {
          throw new Error("broken");
        },
      },
    ],
    ["rejects", { check: async () => Promise.reject(new Error("broken")) }],
    ["returns nothing", always(undefined)],
    ["returns an invalid grant", always({ decision: "allow", grant: { sandbox: "cloud" } })],
  ])("fails if one policy %s, even if another one denies or rejects", async (_case, broken) => {
    const rejecting: RuntimePolicy = { check: () => Promise.reject(new Error("also broken")) };
    const decide = async (...policies: RuntimePolicy[]): Promise<PolicyDecision> =>
      strictest(...policies).check(REQUEST);
    await expect(decide(always(deny("no")), broken)).rejects.toThrow();
    await expect(decide(rejecting, broken)).rejects.toThrow();
  });

  test("needs a policy, and leaves a single one as it is", () => {
    const policy = new HostPolicy();
    expect(strictest(policy)).toBe(policy);
    expect(() => strictest()).toThrow(TypeError);
  });

  test("its revision names those of all policies", () => {
    const policies = ["a", "b"].map((revision) => ({ ...always(deny("no")), revision }));
    expect(strictest(...policies, new HostPolicy()).revision).toBe("a + b");
    expect(strictest(new HostPolicy(), new HostPolicy()).revision).toBeUndefined();
  });
});
