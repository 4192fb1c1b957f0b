import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../../src/sessions/session.ts";
import type { Sessions } from "../../../src/sessions/sessions.ts";
import { hostTool } from "../../engine/helpers.ts";
import { freePorts } from "../free-ports.ts";
import { type RestateNode, type RestateNodes, startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

let restate: RestateNodes;
let sessions: Sessions;
let session: Session;
beforeAll(async () => {
  restate = await startRestate();
  const [port = 0] = await freePorts(1);
  const tools = [hostTool(() => "done", { name: "read", sideEffects: "read" })];
  sessions = await openServer({ node: restate.nodes[0] as RestateNode, port, tools });
  session = await sessions.open();
});
afterAll(async () => {
  await sessions?.close();
  await restate?.[Symbol.asyncDispose]();
});

const LENGTHS = [129, 4_000, 70_000, 1_000_000];

/** Ids that nothing has, some of which nothing can have: too long, no Unicode, with a meaning in paths. */
const unknownIds = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  // Any UTF-16, with half pairs.
  fc
    .array(fc.integer({ min: 0, max: 0xff_ff }), { maxLength: 20 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom("", ".", "..", "/", "%2e%2e", "a/../b", "\0", "\ud800", "?x=1", "#", " "),
  fc.constantFrom(...LENGTHS).map((length) => "x".repeat(length)),
);

describe("Sessions on Restate that are asked for any id that nothing has", () => {
  test("find nothing, and their store has no problem", async () => {
    await fc.assert(
      fc.asyncProperty(unknownIds, async (id) => {
        expect(await sessions.find(id)).toBeUndefined();
        expect(await sessions.confirmation(id)).toBeUndefined();
        const answer = { decision: "allow", digest: "0".repeat(64), by: "ann" } as const;
        expect(await sessions.answer(id, answer)).toEqual({ outcome: "unknown" });
        expect(await session.answer(id, answer)).toEqual({ outcome: "unknown" });
        expect(await session.findTurn(id)).toBeUndefined();
        expect(await session.isForgotten(id)).toBe(false);
        await session.forgetTurn(id);
        expect(await session.revokeApproval(id)).toBe(false);
        expect(sessions.problem).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });
});

describe("Sessions on Restate", () => {
  test.each([".", "..", "a.b:c@d-e_f", "x".repeat(128)])("may have the id '%s'", async (id) => {
    const opened = await sessions.open({ id });
    const results = await opened
      .turn({ id })
      .dispatchAll([{ id, name: "read", arguments: {} }], { messageId: id });
    expect(results[0]).toMatchObject({ success: true, output: "done" });
    expect((await sessions.find(id))?.id).toBe(id);
    await opened.close();
    expect(await sessions.find(id)).toBeUndefined();
  });
});
