import { describe, expect, test } from "vitest";
import type { SessionStore } from "../../src/sessions/store/store.ts";
import type { Fault } from "./check.ts";
import type { OpenSubject } from "./interleave.ts";
import { runInterleavings } from "./run.ts";
import { DirectSubject } from "./subject.ts";

async function faultsWith(openSubject: OpenSubject, count = 230): Promise<ReadonlySet<Fault>> {
  const found = new Set<Fault>();
  await runInterleavings(count, 1, openSubject, (_vector, _seed, faults) => {
    for (const fault of faults) found.add(fault);
  });
  return found;
}

/** Replaces methods of a store. */
function broken(store: SessionStore, methods: Partial<SessionStore>): SessionStore {
  return { ...store, ...methods };
}

describe("The race bench", () => {
  test("finds nothing wrong with inquiries over a store", async () => {
    expect(await faultsWith((store, world) => new DirectSubject(store, world))).toEqual(new Set());
  });

  test("finds calls that run twice if claims are not kept", async () => {
    const open: OpenSubject = (store, world) =>
      new DirectSubject(broken(store, { claim: () => ({ state: "fresh" }) }), world);
    expect(await faultsWith(open)).toContain("double");
  });

  test("finds calls that run although they were rejected", async () => {
    const open: OpenSubject = (store, world) => {
      const resolveInquiry: SessionStore["resolveInquiry"] = async (id, resolution) => {
        const written = await store.resolveInquiry(id, resolution);
        return written && { ...written, decision: "allow" };
      };
      return new DirectSubject(broken(store, { resolveInquiry }), world);
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
