import { describe, expect, test } from "vitest";
import type { SessionStore } from "../../src/sessions/store/store.ts";
import type { Fault } from "./check.ts";
import type { OpenSubject } from "./interleave.ts";
import { runInterleavings } from "./run.ts";
import { SessionsSubject } from "./sessions-subject.ts";
import { DirectSubject } from "./subject.ts";
import { readVectors, type Vector } from "./vector.ts";

/** Only sessions have answers hold whatever the policy says later, and remember approvals. */
const FORGOTTEN = "forgotten in a crash";
const OF_CONFIRMATIONS = readVectors().filter(
  (vector) =>
    vector.class !== FORGOTTEN &&
    !vector.actors.flat().some((step) => step.do === "answer" && step.decision === "always"),
);

async function faultsWith(
  openSubject: OpenSubject,
  count = 230,
  vectors = OF_CONFIRMATIONS,
): Promise<ReadonlySet<Fault>> {
  const found = new Set<Fault>();
  const onFault = (_vector: Vector, _seed: number, faults: readonly Fault[]): void => {
    for (const fault of faults) found.add(fault);
  };
  await runInterleavings(count, 1, openSubject, onFault, vectors);
  return found;
}

/** Replaces methods of a store. */
function broken(store: SessionStore, methods: Partial<SessionStore>): SessionStore {
  return { ...store, ...methods };
}

describe("The race bench", () => {
  test("finds nothing wrong with confirmations over a store", async () => {
    expect(await faultsWith((store, world) => new DirectSubject(store, world))).toEqual(new Set());
  });

  test("finds answers that are forgotten if the policy decides anew after a crash", async () => {
    const vectors = readVectors().filter((vector) => vector.class === FORGOTTEN);
    const open: OpenSubject = (store, world) => new DirectSubject(store, world);
    const found = await faultsWith(open, 1_000, vectors);
    for (const fault of ["rejected but run", "wrong arguments", "approval forgotten"])
      expect(found).toContain(fault);
  });

  test("finds nothing wrong with sessions over a store when policies and modes change and processes die", async () => {
    const vectors = readVectors().filter((vector) => vector.class === FORGOTTEN);
    const open: OpenSubject = (store, world) => new SessionsSubject(store, world);
    expect(await faultsWith(open, 700, vectors)).toEqual(new Set());
  });

  test("finds calls that run twice if claims are not kept", async () => {
    const open: OpenSubject = (store, world) =>
      new DirectSubject(broken(store, { claim: () => ({ state: "fresh" }) }), world);
    expect(await faultsWith(open)).toContain("double");
  });

  test("finds calls that run although they were rejected", async () => {
    const open: OpenSubject = (store, world) => {
      const resolveConfirmation: SessionStore["resolveConfirmation"] = async (id, resolution) => {
        const written = await store.resolveConfirmation(id, resolution);
        return written && { ...written, decision: "allow" };
      };
      return new DirectSubject(broken(store, { resolveConfirmation }), world);
    };
    expect(await faultsWith(open)).toContain("rejected but run");
  });

  test("finds wrong arguments if a message is not kept as it was received", async () => {
    const open: OpenSubject = (store, world) => {
      const addMessage: SessionStore["addMessage"] = async (message) => {
        await store.addMessage(message);
        return {
          ...message,
          calls: message.calls.map((call) => ({ ...call, arguments: { path: "other" } })),
        };
      };
      return new DirectSubject(broken(store, { addMessage }), world);
    };
    expect(await faultsWith(open)).toContain("wrong arguments");
  });

  test("finds lost calls if a message is forgotten", async () => {
    const open: OpenSubject = (store, world) =>
      new DirectSubject(broken(store, { end: () => {}, unfinishedMessages: () => [] }), world);
    expect(await faultsWith(open)).toContain("lost");
  });
});
