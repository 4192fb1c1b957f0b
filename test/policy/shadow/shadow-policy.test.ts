import { afterEach, describe, expect, test, vi } from "vitest";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import {
  allow,
  deny,
  type PolicyDecision,
  type PolicyRequest,
  type RuntimePolicy,
} from "../../../src/policy/policy.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { type PolicyDifference, ShadowPolicy } from "../../../src/policy/shadow-policy.ts";

const REQUEST: PolicyRequest = Object.freeze({
  callId: "c",
  sessionId: "s",
  input: {},
  canonical: new CanonicalJson({}),
  tool: { name: "t", sideEffects: "read" as const, sandboxes: ["host" as const], inputSchema: {} },
});
const HOST = allow({ sandbox: "host" });
const DENY = deny("no");

afterEach(() => void vi.useRealTimers());

function shadow(
  active: RuntimePolicy["check"],
  candidate: RuntimePolicy["check"],
): { policy: ShadowPolicy; seen: PolicyDifference[] } {
  const seen: PolicyDifference[] = [];
  return {
    policy: new ShadowPolicy({ check: active }, { check: candidate }, (each) => seen.push(each)),
    seen,
  };
}

describe("a shadow policy", () => {
  test("decides as the active policy does, and reports what the candidate decides differently", () => {
    const { policy, seen } = shadow(
      () => HOST,
      () => DENY,
    );
    expect(policy.check(REQUEST)).toBe(HOST);
    const changes = ["allow → deny"];
    expect(seen).toEqual([{ request: REQUEST, active: HOST, candidate: DENY, change: "narrower", changes }]);
  });

  test("reports nothing if both come to the same", async () => {
    const { policy, seen } = shadow(
      () => allow({ sandbox: "host" }, { rules: ["old"] }),
      async () => allow({ sandbox: "host" }, { rules: ["new"] }),
    );
    await policy.check(REQUEST);
    await settle();
    expect(seen).toEqual([]);
  });

  const throwing = new Proxy({}, { get: () => fail() });
  test.each<[string, () => unknown]>([
    ["throws", fail],
    ["rejects", () => Promise.reject(new Error("broken"))],
    ["returns no decision", () => ({ decision: "maybe" })],
    ["returns nothing", () => undefined],
    ["resolves to no decision", async () => 1],
    ["returns an object that throws", () => throwing],
    // biome-ignore lint/suspicious/noThenProperty: a hostile thenable.
    ["returns a thenable that throws", () => Object.defineProperty({}, "then", { value: fail })],
  ])("is not disturbed by a candidate that %s, and reports it", async (_, candidate) => {
    const { policy, seen } = shadow(() => HOST, candidate as RuntimePolicy["check"]);
    expect(policy.check(REQUEST)).toBe(HOST);
    await settle();
    expect(seen).toMatchObject([{ active: HOST, change: "failed", failure: expect.any(String) }]);
  });

  test.each<[string, () => unknown]>([
    ["throws", fail],
    ["rejects", () => Promise.reject(new Error("broken"))],
  ])("is not disturbed by a listener that %s", async (_, listener) => {
    const policy = new ShadowPolicy({ check: () => HOST }, { check: () => DENY }, listener);
    expect(policy.check(REQUEST)).toBe(HOST);
    const later = new ShadowPolicy({ check: () => HOST }, { check: async () => DENY }, listener);
    expect(later.check(REQUEST)).toBe(HOST);
    // An unhandled rejection would fail this run.
    await settle();
  });

  test("passes on what the active policy throws, and handles the candidate's rejection", async () => {
    const { policy, seen } = shadow(
      () => Promise.reject(new Error("active")),
      () => Promise.reject(new Error("candidate")),
    );
    await expect(policy.check(REQUEST)).rejects.toThrow("active");
    expect(() => shadow(fail, () => HOST).policy.check(REQUEST)).toThrow("failed");
    await settle();
    expect(seen).toEqual([]);
  });

  test("compares asynchronous answers in any order", async () => {
    const first = Promise.withResolvers<PolicyDecision>();
    const second = Promise.withResolvers<PolicyDecision>();
    const { policy, seen } = shadow(
      () => first.promise,
      () => second.promise,
    );
    const decision = policy.check(REQUEST);
    second.resolve(HOST);
    await settle();
    expect(seen).toEqual([]);
    first.resolve(DENY);
    expect(await decision).toBe(DENY);
    await settle();
    expect(seen).toMatchObject([{ change: "wider" }]);
  });

  test("waits for no more than 1,000 answers, and not forever", async () => {
    vi.useFakeTimers();
    const { policy, seen } = shadow(
      () => HOST,
      () => new Promise(() => {}),
    );
    for (let index = 0; index < 1_005; index++) expect(policy.check(REQUEST)).toBe(HOST);
    expect(policy.skipped).toBe(5);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen).toHaveLength(1_000);
    expect(seen[0]).toMatchObject({ change: "failed", failure: "no decision within 10000 ms" });
    expect(vi.getTimerCount()).toBe(0);
    policy.check(REQUEST);
    expect(policy.skipped).toBe(5);
  });

  test("has the revision and the sources of the active policy, and uses history if one of both does", () => {
    const check = (): PolicyDecision => HOST;
    const active = { check, revision: "a", sources: ["{}"] };
    const using = { check, revision: "b", usesHistory: true };
    const policy = new ShadowPolicy(active, using, () => {});
    expect(policy).toMatchObject({ revision: "a", sources: ["{}"], usesHistory: true });
    expect(new ShadowPolicy(using, active, () => {})).toMatchObject({
      usesHistory: true,
      sources: undefined,
    });
    expect(new ShadowPolicy(active, active, () => {}).usesHistory).toBe(false);
  });

  test("has the fields remembered that one of both needs", () => {
    const check = (): PolicyDecision => HOST;
    const field = (name: string) => ({
      check,
      trackedFields: { sources: [], contents: [{ tool: name, field: "/a" }] },
    });
    const policy = new ShadowPolicy(field("one"), field("two"), () => {});
    expect(policy.trackedFields?.contents.map(({ tool }) => tool)).toEqual(["one", "two"]);
    expect(new ShadowPolicy({ check }, field("two"), () => {}).trackedFields?.contents).toHaveLength(1);
    expect(new ShadowPolicy({ check }, { check }, () => {}).trackedFields).toBeUndefined();
  });
});

test("A shadow policy explains what the active policy decides, if that can", () => {
  const active = new RulePolicy({ rules: [{ tools: ["t"], effect: "allow", sandboxes: ["host"] }] });
  const other: RuntimePolicy = { check: () => DENY };
  expect(new ShadowPolicy(active, other, () => {}).explain?.(REQUEST)).toEqual(active.explain(REQUEST));
  expect(new ShadowPolicy(other, active, () => {}).explain).toBeUndefined();
});

function fail(): never {
  throw new Error("failed");
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}
