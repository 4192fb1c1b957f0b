import { describe, expect, test } from "vitest";
import type { Vector } from "../vector.ts";
import type { Run } from "../world.ts";
import { faultsOfPeer } from "./check-peer.ts";
import { type GivenAnswer, Shelf, type Shown } from "./shelf.ts";

const VECTOR: Vector = {
  class: "a class",
  messages: [
    { session: "s1", turn: "t1", id: "m1", calls: [{ id: "c", name: "write", arguments: { path: "a" } }] },
  ],
  actors: [],
};
const SHOWN: Shown = {
  session: "s1",
  message: "m1",
  callId: "c",
  arguments: '{"path":"a"}',
  definition: "Version 1.",
  pendingId: "c",
};
const RUN: Run = {
  key: JSON.stringify(["s1", "c"]),
  arguments: SHOWN.arguments,
  definition: SHOWN.definition,
  wallTimeMs: undefined,
};
const ALLOWED: GivenAnswer = {
  shown: SHOWN,
  isAllowed: true,
  isAlways: false,
  arguments: undefined,
  outcome: "accepted",
};
const DENIED: GivenAnswer = { ...ALLOWED, isAllowed: false };

function faultsWith(answers: readonly GivenAnswer[], runs: readonly Run[], hasEnded = true) {
  const shelf = new Shelf();
  shelf.shown.set("shown", SHOWN);
  shelf.answers.push(...answers);
  return faultsOfPeer(VECTOR, runs, shelf, hasEnded);
}

describe("The check of other libraries", () => {
  test("finds nothing wrong with a call that was allowed and ran once", () => {
    expect(faultsWith([ALLOWED], [RUN])).toEqual([]);
  });

  test("finds nothing wrong with a call that was denied and did not run", () => {
    expect(faultsWith([DENIED], [])).toEqual([]);
  });

  test("finds a call that ran twice", () => {
    expect(faultsWith([ALLOWED, ALLOWED], [RUN, RUN])).toEqual(["double"]);
  });

  test("finds a call that ran without an answer, or after a refused one", () => {
    expect(faultsWith([], [RUN])).toEqual(["rejected but run"]);
    expect(faultsWith([{ ...ALLOWED, outcome: "refused" }], [RUN])).toEqual(["rejected but run"]);
  });

  test("finds a call that ran although a denial was accepted", () => {
    expect(faultsWith([ALLOWED, DENIED], [RUN])).toEqual(["rejected but run"]);
  });

  test("finds arguments that were not shown, and another definition", () => {
    expect(faultsWith([ALLOWED], [{ ...RUN, arguments: '{"path":"b"}' }])).toEqual(["wrong arguments"]);
    expect(faultsWith([ALLOWED], [{ ...RUN, definition: "Version 2." }])).toEqual(["wrong arguments"]);
  });

  test("finds an edited call that also ran as it was shown", () => {
    const edited: GivenAnswer = { ...ALLOWED, arguments: { path: "b" } };
    expect(faultsWith([edited], [{ ...RUN, arguments: '{"path":"b"}' }])).toEqual([]);
    expect(faultsWith([edited, ALLOWED], [{ ...RUN, arguments: '{"path":"b"}' }, RUN])).toEqual(["double"]);
  });

  test("finds an accepted answer without effect, and a conversation that does not end", () => {
    expect(faultsWith([ALLOWED], [])).toEqual(["lost"]);
    expect(faultsWith([], [], false)).toEqual(["lost"]);
  });
});
