import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundGrant, boundLimits } from "../../../src/engine/call/upper-bound.ts";
import { checkCapabilities } from "../../../src/policy/grant/capabilities.ts";
import { checkGrant } from "../../../src/policy/grant/execution-grant.ts";
import { checkLimits, LIMIT_NAMES, type ResourceLimits } from "../../../src/policy/grant/limits.ts";
import type { Sandbox } from "../../../src/sandboxes/contract/sandbox.ts";

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
        const granted = checkGrant({ sandbox: "quickjs", limits: own });
        const bound = { limits: other, capabilities: {} };
        const enforced = boundLimits(granted, bound, { defaults } as Sandbox);
        for (const name of LIMIT_NAMES) {
          const alone = own[name] ?? defaults[name] ?? Number.POSITIVE_INFINITY;
          const least = Math.min(alone, other[name] ?? Number.POSITIVE_INFINITY);
          expect(enforced[name] ?? Number.POSITIVE_INFINITY).toBe(least);
        }
      }),
    );
  });
});
