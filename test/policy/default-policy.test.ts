import { describe, expect, test } from "vitest";
import { DefaultPolicy, type DefaultPolicyOptions } from "../../src/policy/default-policy.ts";
import { contextFor, dispatchTool, hostTool } from "../engine/helpers.ts";

async function errorOf(options?: DefaultPolicyOptions): Promise<unknown> {
  const ctx = await contextFor([hostTool(() => "ran")], { policy: new DefaultPolicy(options) });
  return (await dispatchTool(ctx)).error?.code;
}

describe("DefaultPolicy", () => {
  test("denies a tool without a rule, unless the default allows it", async () => {
    expect(await errorOf()).toBe("permission_denied");
    expect(await errorOf({ rules: { other: { allowed: true } } })).toBe("permission_denied");
    expect(await errorOf({ default: { allowed: true } })).toBeUndefined();
  });

  test("a tool's rule replaces the default", async () => {
    expect(await errorOf({ rules: { tool: { allowed: true } } })).toBeUndefined();
    const rules = { tool: { allowed: false } };
    expect(await errorOf({ rules, default: { allowed: true } })).toBe("permission_denied");
  });

  test("grants the sandbox and the limits of the rule", async () => {
    expect(await errorOf({ rules: { tool: { allowed: true, sandbox: "wasm" } } })).toBe(
      "sandbox_unavailable",
    );
    const policy = new DefaultPolicy({ default: { allowed: true, limits: { wallTimeMs: 100 } } });
    const { receipt } = await dispatchTool(await contextFor([hostTool(() => 1)], { policy }));
    expect(receipt.enforced).toEqual({ wallTimeMs: 100 });
  });

  test("a tool named like a member of Object.prototype needs a rule as well", async () => {
    const tool = { ...hostTool(() => 1), name: "constructor" };
    const ctx = await contextFor([tool], { policy: new DefaultPolicy() });
    const subject = ctx.registry.subjects[0];
    expect(ctx.policy.check({ tool: subject } as never)).toMatchObject({ decision: "deny" });
  });

  test.each([
    ["a sandbox that does not exist", { allowed: true, sandbox: "cloud" }],
    ["a limit that does not exist", { allowed: true, limits: { cpu: 1 } }],
    ["an invalid limit, even if it denies the tool", { allowed: false, limits: { wallTimeMs: -1 } }],
    ["'allowed' as text", { allowed: "false" }],
  ])("refuses a rule with %s", (_what, rule) => {
    expect(() => new DefaultPolicy({ rules: { tool: rule as never } })).toThrow(TypeError);
  });
});
