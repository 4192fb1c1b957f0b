import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareDecisions, DECISION_CHANGES, directionOf } from "../../src/policy/compare-decisions.ts";
import { allow, ask, deny, type PolicyDecision } from "../../src/policy/policy.ts";

const limited = allow({ sandbox: "host", limits: { wallTimeMs: 5 }, capabilities: { env: ["A"] } });

describe("Two decisions on a call", () => {
  test.each<[string, PolicyDecision, PolicyDecision, readonly string[]]>([
    ["a denial becomes permission", deny("no"), limited, ["deny → allow"]],
    ["a denial becomes a question", deny("no"), ask("?", { grant: { sandbox: "host" } }), ["deny → ask"]],
    ["a question becomes permission", ask("?", { grant: limited.grant }), limited, ["ask → allow"]],
    ["permission becomes a denial", limited, deny("no"), ["allow → deny"]],
    ["permission becomes a question", limited, ask("?", { grant: limited.grant }), ["allow → ask"]],
    ["a question becomes a denial", ask("?", { grant: limited.grant }), deny("no"), ["ask → deny"]],
    ["a question without a grant is a denial", ask("?"), deny("no"), []],
    ["permission becomes a question without a grant", limited, ask("?"), ["allow → deny"]],
    ["the reason of a denial changes", deny("no"), deny("never"), []],
    ["another rule permits the same", limited, allow(limited.grant, { rules: ["other"] }), []],
    [
      "a question grants more than was permitted",
      limited,
      ask("?", { grant: { sandbox: "host", limits: { wallTimeMs: 9 }, capabilities: { env: ["A"] } } }),
      ["wider grant", "allow → ask"],
    ],
    [
      "a limit is removed",
      limited,
      allow({ sandbox: "host", capabilities: { env: ["A"] } }),
      ["wider grant"],
    ],
    [
      "a capability is removed, and a limit raised",
      limited,
      allow({ sandbox: "host", limits: { wallTimeMs: 6 } }),
      ["wider grant", "narrower grant"],
    ],
    ["a call leaves the host", limited, allow({ ...limited.grant, sandbox: "quickjs" }), ["narrower grant"]],
    ["a call comes to the host", allow({ ...limited.grant, sandbox: "wasm" }), limited, ["wider grant"]],
    [
      "a call moves to another sandbox",
      allow({ ...limited.grant, sandbox: "wasm" }),
      allow({ ...limited.grant, sandbox: "quickjs" }),
      ["wider grant", "narrower grant"],
    ],
    [
      "the host is accepted in the place of the sandbox",
      allow({ sandbox: "quickjs" }),
      allow({ sandbox: "quickjs" }, { sandboxes: ["quickjs", "host"] }),
      ["wider grant"],
    ],
    [
      "the host is no longer accepted in the place of the sandbox",
      ask("?", { grant: { sandbox: "quickjs" }, sandboxes: ["quickjs", "host"] }),
      ask("?", { grant: { sandbox: "quickjs" } }),
      ["narrower grant"],
    ],
    [
      "another sandbox is accepted in the place of the host",
      allow({ sandbox: "host" }),
      allow({ sandbox: "host" }, { sandboxes: ["host", "quickjs"] }),
      ["other alternatives"],
    ],
    [
      "another question is asked",
      ask("?", { grant: limited.grant }),
      ask("!", { grant: limited.grant }),
      ["another question"],
    ],
    [
      "an approval is remembered now",
      ask("?", { grant: limited.grant }),
      ask("!", { grant: limited.grant, remember: "session" }),
      ["remembers approvals", "another question"],
    ],
    [
      "an approval is not remembered any more",
      ask("?", { grant: limited.grant, remember: "session" }),
      ask("?", { grant: limited.grant }),
      ["asks each time"],
    ],
  ])("differ if %s", (_, before, after, changes) => {
    expect(compareDecisions(before, after).toSorted()).toEqual(changes.toSorted());
  });

  const grant = fc.record({
    sandbox: fc.constantFrom("host" as const, "quickjs" as const),
    limits: fc.record({ wallTimeMs: fc.integer({ min: 1, max: 3 }) }, { requiredKeys: [] }),
    capabilities: fc.record({ env: fc.subarray(["A", "B"]), clock: fc.boolean() }, { requiredKeys: [] }),
  });
  const decision: fc.Arbitrary<PolicyDecision> = fc.oneof(
    grant.map((each) => allow(each)),
    grant.map((each) => ask("?", { grant: each })),
    fc.constant(deny("no")),
  );

  test.each<[string, PolicyDecision, PolicyDecision, string]>([
    ["wider", deny("no"), limited, "wider"],
    ["narrower", limited, ask("?", { grant: limited.grant }), "narrower"],
    [
      "both",
      ask("?", { grant: limited.grant }),
      allow({ sandbox: "host", limits: { wallTimeMs: 1 } }),
      "other",
    ],
    ["neither", ask("?", { grant: limited.grant }), ask("!", { grant: limited.grant }), "other"],
  ])("are %s as a whole", (_, before, after, direction) => {
    expect(directionOf(compareDecisions(before, after))).toBe(direction);
  });

  test("are wider in one direction if they are narrower in the other, and never differ from themselves", () => {
    const kinds = (before: PolicyDecision, after: PolicyDecision): unknown[] =>
      compareDecisions(before, after).map((change) => DECISION_CHANGES[change]);
    fc.assert(
      fc.property(decision, decision, (one, other) => {
        expect(kinds(one, structuredClone(one))).toEqual([]);
        expect(kinds(one, other).includes("wider")).toBe(kinds(other, one).includes("narrower"));
      }),
    );
  });
});
