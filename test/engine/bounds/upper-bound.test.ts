import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundGrant, boundLimits, boundSandbox } from "../../../src/engine/bounds.ts";
import { checkCapabilities } from "../../../src/policy/grant/capabilities.ts";
import { checkGrant } from "../../../src/policy/grant/execution-grant.ts";
import { checkLimits, LIMIT_NAMES, type ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import type { SandboxMode } from "../../../src/tool/sandbox-mode.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const limits: fc.Arbitrary<ResourceLimits> = fc
  .dictionary(fc.constantFrom(...LIMIT_NAMES), fc.integer({ min: 1, max: 9 }))
  .map(checkLimits);
const capabilities = fc
  .record(
    {
      clock: fc.constant(true),
      random: fc.constant(true),
      env: fc.subarray(["A", "B", "C"]),
      tools: fc.subarray(["a", "b", "c_*"]),
    },
    { requiredKeys: [] },
  )
  .map(checkCapabilities);

describe("an upper bound", () => {
  test("an upper bound reduces a grant to what both give", () => {
    fc.assert(
      fc.property(limits, capabilities, limits, capabilities, (own, mayOwn, other, mayOther) => {
        const granted = checkGrant({ sandbox: "quickjs", limits: own, capabilities: mayOwn });
        const bounded = boundGrant(granted, { limits: other, capabilities: mayOther });
        for (const name of LIMIT_NAMES) {
          for (const limit of [own[name], other[name]]) {
            if (limit !== undefined) expect(bounded.limits[name]).toBeLessThanOrEqual(limit);
          }
        }
        const { clock, random, env = [], tools = [] } = bounded.capabilities;
        expect(clock ?? false).toBe(mayOwn.clock === true && mayOther.clock === true);
        expect(random ?? false).toBe(mayOwn.random === true && mayOther.random === true);
        for (const name of env) expect(mayOwn.env?.includes(name) && mayOther.env?.includes(name)).toBe(true);
        for (const name of tools) {
          expect(mayOwn.tools?.includes(name) && mayOther.tools?.includes(name)).toBe(true);
        }
        expect(Object.isFrozen(bounded.limits) && Object.isFrozen(bounded.capabilities)).toBe(true);
      }),
    );
  });

  test("an upper bound never replaces a stricter default of the sandbox", () => {
    fc.assert(
      fc.property(limits, limits, limits, (defaults, own, other) => {
        const bound = { limits: other, capabilities: {} };
        const enforced = boundLimits({ ...defaults, ...own }, bound);
        for (const name of LIMIT_NAMES) {
          const alone = own[name] ?? defaults[name] ?? Number.POSITIVE_INFINITY;
          const least = Math.min(alone, other[name] ?? Number.POSITIVE_INFINITY);
          expect(enforced[name] ?? Number.POSITIVE_INFINITY).toBe(least);
        }
      }),
    );
  });

  test("an upper bound chooses the first sandbox that the policy accepts and that it allows", () => {
    const granted = checkGrant({ sandbox: "quickjs", limits: { wallTimeMs: 5 } });
    const bound = { limits: {}, capabilities: {} };
    expect(boundSandbox(granted, bound)).toBe(granted);
    expect(boundSandbox(granted, { ...bound, sandboxes: ["wasm", "quickjs"] })).toBe(granted);
    expect(boundSandbox(granted, { ...bound, sandboxes: ["wasm"] }, ["quickjs", "wasm"])).toEqual({
      ...granted,
      sandbox: "wasm",
    });
    expect(boundSandbox(granted, { ...bound, sandboxes: ["host"] }, ["quickjs", "wasm"])).toBeUndefined();
    expect(boundSandbox(granted, { ...bound, sandboxes: [] })).toBeUndefined();
  });

  test("a call is denied if the upper bound allows no sandbox that the policy accepts", async () => {
    const upperBound = (sandboxes: readonly SandboxMode[]) => ({ limits: {}, capabilities: {}, sandboxes });
    const tool = hostTool((input) => input, { quickjs: { source: "export default () => 'inside'" } });
    const both = { check: () => allow({ sandbox: "host" }, { sandboxes: ["host", "quickjs"] }) };
    const inside = await dispatchTool(
      await contextFor([tool], { policy: both, upperBound: upperBound(["quickjs"]) }),
    );
    expect(inside).toMatchObject({ output: "inside", sandbox: "quickjs" });
    const refused = await dispatchTool(await contextFor([tool], { upperBound: upperBound(["wasm"]) }));
    expect(refused.error).toMatchObject({
      code: "permission_denied",
      message: "Permission denied: tool 'tool' is disabled by policy",
      effect: "none",
    });
  });
});
