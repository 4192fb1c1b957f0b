import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../src/json/canonical.ts";
import { type FsGrant, isFileGrant } from "../../src/policy/grant/fs-grant.ts";
import { LIMIT_NAMES } from "../../src/policy/grant/limits.ts";
import { isWithinOrigin, originOf, parseOrigin } from "../../src/policy/grant/net-grant.ts";
import { isWithinNamePattern } from "../../src/policy/match/name-pattern.ts";
import {
  allow,
  ask,
  deny,
  type PolicyDecision,
  type PolicyRequest,
  type RuntimePolicy,
} from "../../src/policy/policy.ts";
import { strictest } from "../../src/policy/strictest.ts";
import { SANDBOX_MODES } from "../../src/tool/sandbox-mode.ts";

const REQUEST: PolicyRequest = {
  callId: "c",
  sessionId: "s",
  input: {},
  canonical: new CanonicalJson({}),
  tool: { name: "tool", sideEffects: "read", sandboxes: SANDBOX_MODES, inputSchema: {} },
};

const limit = fc.integer({ min: 1, max: 5 });
const origin = fc.constantFrom("https://*", "https://*.x.test", "https://a.x.test", "https://a.x.test:*");
const capabilities = fc.record(
  {
    env: fc.subarray(["A", "B", "C"]),
    clock: fc.constant(true),
    tools: fc.subarray(["*", "read_*", "read_file", "fetch"]),
    net: fc.uniqueArray(origin, { maxLength: 3 }),
    fs: fc.subarray([
      { directory: "/a", at: "/a", write: true },
      { directory: "/b", at: "/b" },
      { file: "/a/x", at: "/files/x" },
      { file: "/a/y", within: "/a", at: "/files/y", write: true },
      { file: "/b/y", within: "/", at: "/files/z", write: true },
    ]),
  },
  { requiredKeys: [] },
);
const granted = fc.record({
  sandboxes: fc.shuffledSubarray([...SANDBOX_MODES], { minLength: 1 }),
  limits: fc.record({ wallTimeMs: limit, outputBytes: limit }, { requiredKeys: [] }),
  capabilities,
});
const rules = fc.subarray(["r1", "r2", "r3"]);
const decision: fc.Arbitrary<PolicyDecision> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(granted, rules).map(([use, names]) => granting(use, names)) },
  fc
    .tuple(granted, rules, fc.boolean())
    .map(([use, names, remember]) => asking(granting(use, names), remember)),
  rules.map((names) => ask("Sure?", { rules: names })),
  rules.map((names) => deny("no", { rules: names })),
);

function granting(
  { sandboxes, ...grant }: typeof granted extends fc.Arbitrary<infer Use> ? Use : never,
  names: readonly string[],
): PolicyDecision & { decision: "allow" } {
  const [sandbox = "host"] = sandboxes;
  return allow({ sandbox, ...grant }, { sandboxes, rules: names });
}

function asking(
  { grant, sandboxes = [], rules: names = [] }: ReturnType<typeof granting>,
  remember: boolean,
) {
  return ask("Sure?", { grant, sandboxes, rules: names, ...(remember && { remember: "session" }) });
}

/** A policy that `strictest` cannot take apart. */
const always = (answer: PolicyDecision): RuntimePolicy => ({ check: () => answer });
const join = (...policies: readonly RuntimePolicy[]): PolicyDecision =>
  strictest(...policies).check(REQUEST) as PolicyDecision;

function isWithinFs(inner: FsGrant, outer: FsGrant): boolean {
  if (inner.write && !outer.write) return false;
  if (!isFileGrant(inner)) return !isFileGrant(outer) && outer.directory === inner.directory;
  const named = isFileGrant(outer) ? (outer.within ?? outer.file) : outer.directory;
  // A place that the outer grant does not name must not be named by the inner one.
  if ((inner.within ?? inner.file).length > named.length) return false;
  return isFileGrant(outer) ? inner.file === outer.file : inner.file.startsWith(`${outer.directory}/`);
}

/** Whether `inner` lets a call do nothing that `outer` does not. Neither a denial nor a question without a grant does. */
function isWithin(inner: PolicyDecision, outer: PolicyDecision): boolean {
  if (inner.decision === "deny" || inner.grant === undefined) return true;
  if (outer.decision === "deny" || outer.grant === undefined) return false;
  if (inner.decision === "allow" && outer.decision === "ask") return false;
  const [a, b] = [inner.grant, outer.grant];
  const accepted = outer.sandboxes ?? [b.sandbox];
  const [own, other] = [a.capabilities, b.capabilities];
  return (
    (inner.sandboxes ?? [a.sandbox]).every((mode) => accepted.includes(mode)) &&
    LIMIT_NAMES.every((name) => (a.limits[name] ?? Infinity) <= (b.limits[name] ?? Infinity)) &&
    (own.env ?? []).every((name) => other.env?.includes(name)) &&
    (!own.clock || other.clock === true) &&
    (own.tools ?? []).every((name) =>
      other.tools?.some((outerName) => isWithinNamePattern(name, outerName)),
    ) &&
    (own.net ?? []).every((each) =>
      other.net?.some((outerEach) =>
        isWithinOrigin(parseOrigin(originOf(each)), parseOrigin(originOf(outerEach))),
      ),
    ) &&
    (own.fs ?? []).every((each) => other.fs?.some((outerEach) => isWithinFs(each, outerEach)))
  );
}

describe("the strictest of any policies", () => {
  test("is within every one of them", () => {
    fc.assert(
      fc.property(fc.array(decision, { minLength: 1, maxLength: 4 }), (decisions) => {
        const strict = join(...decisions.map(always));
        for (const each of decisions) expect(isWithin(strict, each)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test("does not depend on how the policies are grouped", () => {
    fc.assert(
      fc.property(decision, decision, decision, (a, b, c) => {
        const [left, right] = [always(join(always(a), always(b))), always(join(always(b), always(c)))];
        const [one, other] = [join(left, always(c)), join(always(a), right)];
        expect(isWithin(one, other) && isWithin(other, one)).toBe(true);
        if (one.decision === "allow" && other.decision === "allow") {
          expect([one.grant.sandbox, one.rules]).toEqual([other.grant.sandbox, other.rules]);
        }
        const nested = strictest(always(a), strictest(always(b), always(c))).check(REQUEST);
        expect(nested).toEqual(join(always(a), always(b), always(c)));
      }),
      { numRuns: 2_000 },
    );
  });

  test("is as strict in any order, and that of a policy with itself is its own decision", () => {
    fc.assert(
      fc.property(decision, decision, (a, b) => {
        const [one, other] = [join(always(a), always(b)), join(always(b), always(a))];
        expect(isWithin(one, other) && isWithin(other, one)).toBe(true);
        expect(join(always(a), always(a))).toEqual(a);
      }),
      { numRuns: 1_000 },
    );
  });

  test("denies exactly if one policy denies or their grants have no sandbox in common", () => {
    fc.assert(
      fc.property(decision, decision, (a, b) => {
        const lists = [a, b].map((each) =>
          each.decision === "deny" ? undefined : (each.sandboxes ?? each.grant),
        );
        const [one, other] = [a, b].map((each) =>
          each.decision === "deny" || each.grant === undefined
            ? []
            : (each.sandboxes ?? [each.grant.sandbox]),
        );
        const apart =
          lists.every((list) => list !== undefined) && !one?.some((mode) => other?.includes(mode));
        const isDenied = a.decision === "deny" || b.decision === "deny" || apart;
        expect(join(always(a), always(b)).decision === "deny").toBe(isDenied);
      }),
    );
  });
});
