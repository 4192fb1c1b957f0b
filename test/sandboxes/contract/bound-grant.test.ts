import { afterEach, describe, expect, test, vi } from "vitest";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import { BoundGrant, type BoundTo } from "../../../src/sandboxes/contract/bound-grant.ts";
import type { SandboxTask } from "../../../src/sandboxes/contract/sandbox.ts";

afterEach(() => void vi.useRealTimers());

const definition = { digest: "d".repeat(64) };
const input = { a: 1 };
const to = (more: Partial<BoundTo> = {}): BoundTo => ({
  callId: "call",
  canonical: new CanonicalJson(input),
  implementations: {},
  limits: { wallTimeMs: 1 },
  capabilities: {},
  sandbox: "host",
  definition,
  ...more,
});

describe("A bound grant", () => {
  test("expires if no sandbox takes over the task in time", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const given = to();
    const task = { ...given, input, grant: new BoundGrant(given) } as unknown as SandboxTask;
    vi.advanceTimersByTime(60_001);
    expect(BoundGrant.accept(task, "host")).toBe("the task's grant has expired");
  });

  test("holds for arguments with the same digest", () => {
    const given = to();
    const task = { ...given, input, grant: new BoundGrant(given) } as unknown as SandboxTask;
    expect(BoundGrant.accept({ ...task, canonical: new CanonicalJson(input) }, "host")).toBeUndefined();
  });

  test("has a digest of everything that it is bound to", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const digests = [
      to(),
      to({ callId: "other" }),
      to({ canonical: new CanonicalJson({ a: 2 }) }),
      to({ limits: {} }),
      to({ capabilities: { random: true } }),
      to({ sandbox: "wasm" }),
      to({ definition: { digest: "e".repeat(64) } }),
    ].map((each) => new BoundGrant(each).digest);
    vi.advanceTimersByTime(10);
    digests.push(new BoundGrant(to()).digest);
    expect(new Set(digests).size).toBe(digests.length);
    expect(digests.every((digest) => /^[0-9a-f]{64}$/.test(digest))).toBe(true);
  });

  test("is written as JSON with its digest", () => {
    const grant = new BoundGrant(to());
    expect(JSON.parse(JSON.stringify({ grant }))).toEqual({ grant: { digest: grant.digest } });
  });
});
