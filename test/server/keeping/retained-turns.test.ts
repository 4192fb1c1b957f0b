import fc from "fast-check";
import { describe, expect, test } from "vitest";
// Inside: takes in messages as numbers of bytes, so that all the room of a server is full at once.
import { type AdmittedMessage, type NotEnforced, RetainedTurns } from "../../../src/server/message-bounds.ts";

/** The longest body. A turn may have 4 of them, a session 8, a principal 16, and all together 64. */
const BODY = 100_000;

function place(session: number, turn: number, principal = "alice") {
  return { sessionId: `${principal}-${session}`, principal, turnId: `t${turn}` };
}

/** Kept turns, and the names of those that were forgotten. */
function keeping() {
  const forgotten: string[] = [];
  const kept = new RetainedTurns(BODY, ({ sessionId, id }) => forgotten.push(`${sessionId} ${id}`));
  return { kept, forgotten };
}

function held(answer: AdmittedMessage | NotEnforced): AdmittedMessage {
  if (typeof answer === "string") throw new Error(answer);
  return answer;
}

describe("the turns that a server keeps", () => {
  test("of a session are forgotten, the oldest first, when there are too many bytes of them", () => {
    const { kept, forgotten } = keeping();
    for (let turn = 0; turn < 9; turn++) held(kept.begin(place(1, turn), "m", BODY / 2)).end(BODY / 2);
    expect(forgotten).toEqual(["alice-1 t0", "alice-1 t1"]);
  });

  test("are not forgotten while a message of theirs is under way", () => {
    const { kept, forgotten } = keeping();
    const first = held(kept.begin(place(1, 0), "m", BODY));
    for (let turn = 1; turn < 7; turn++) held(kept.begin(place(1, turn), "m", BODY));
    expect(kept.begin(place(1, 7), "m", BODY)).toBe("no-room");
    expect(forgotten).toEqual([]);
    first.end(0);
    held(kept.begin(place(1, 7), "m", BODY));
    expect(forgotten).toEqual(["alice-1 t0"]);
  });

  test("results count in the message that runs, whose turn is cancelled if they take up the room", () => {
    const { kept } = keeping();
    const cancelled: string[] = [];
    const [first, second] = [1, 2, 1].map((turn, message) => {
      const each = held(kept.begin(place(1, turn), `m${message}`, 1));
      each.cancelWith(() => cancelled.push(`t${turn}`));
      return each;
    }) as [AdmittedMessage, AdmittedMessage];
    first.end(0);
    kept.grow("alice-1", 9 * BODY);
    expect(cancelled).toEqual(["t2"]);
    second.end(0);
    kept.grow("alice-1", 9 * BODY);
    expect(cancelled).toEqual(["t2", "t1"]);
  });

  test("results count until their message ends, even if an earlier one of the turn comes again", () => {
    const { kept } = keeping();
    held(kept.begin(place(1, 0), "m0", 1)).end(1);
    const running = held(kept.begin(place(1, 0), "m1", 1));
    kept.grow("alice-1", 7.5 * BODY);
    held(kept.begin(place(1, 0), "m0", 1)).end(1);
    expect(kept.begin(place(1, 1), "m", BODY)).toBe("no-room");
    running.end(1);
    held(kept.begin(place(1, 1), "m", BODY));
  });

  test("a turn has at most 1,000 messages, and four of the longest bodies", () => {
    const { kept } = keeping();
    for (let message = 0; message < 3; message++) held(kept.begin(place(1, 0), `m${message}`, BODY)).end(0);
    expect(kept.begin(place(1, 0), "m3", BODY)).toBe("full");
    held(kept.begin(place(1, 0), "m0", BODY)).end(0);
    const many = new RetainedTurns(1_000_000, () => {});
    for (let message = 0; message < 1_000; message++) held(many.begin(place(1, 0), `m${message}`, 1)).end(1);
    expect(many.begin(place(1, 0), "m1000", 1)).toBe("full");
  });

  test("a session has at most 1,000 turns", () => {
    const forgotten: string[] = [];
    const kept = new RetainedTurns(1_000_000, ({ id }) => forgotten.push(id));
    for (let turn = 0; turn < 1_003; turn++) held(kept.begin(place(1, turn), "m", 1)).end(1);
    expect(forgotten).toEqual(["t0", "t1", "t2"]);
  });

  test("large results forget other turns, and not their own", () => {
    const { kept, forgotten } = keeping();
    held(kept.begin(place(1, 0), "m", 1)).end(1);
    held(kept.begin(place(1, 1), "m", 1)).end(BODY * 20);
    expect(forgotten).toEqual(["alice-1 t0"]);
    held(kept.begin(place(1, 2), "m", 1)).end(1);
    expect(forgotten).toEqual(["alice-1 t0", "alice-1 t1"]);
  });

  test("the further calls of a message whose results leave no room are cancelled", () => {
    const { kept } = keeping();
    const running = held(kept.begin(place(1, 0), "m", 1));
    let cancelled = 0;
    running.cancelWith(() => cancelled++);
    kept.grow("alice-1", BODY * 7);
    kept.grow("alice-2", BODY * 9);
    expect(cancelled).toBe(0);
    kept.grow("alice-1", BODY * 2);
    expect(cancelled).toBe(1);
    running.end(BODY);
    held(kept.begin(place(1, 1), "m", BODY)).end(BODY * 5);
  });

  test("a principal that holds all that it may does not keep others from one body each", () => {
    const { kept, forgotten } = keeping();
    for (let id = 0; id < 5; id++) {
      for (let turn = 0; turn < 15; turn++) kept.begin(place(turn, 0, `mallory${id}`), "m", BODY - 512);
    }
    expect(kept.begin(place(99, 0, "mallory0"), "m", BODY)).toBe("no-room");
    held(kept.begin(place(1, 0, "alice"), "m", BODY - 512));
    expect(kept.begin(place(1, 1, "alice"), "m", BODY - 512)).toBe("no-room");
    expect(forgotten).toEqual([]);
  });

  test("a message that was not accepted, and a session that is closed, cost nothing", () => {
    const { kept, forgotten } = keeping();
    for (let round = 0; round < 100; round++) held(kept.begin(place(1, round), "m", BODY)).drop();
    for (let round = 0; round < 100; round++) {
      const late = held(kept.begin(place(round, 0), "m", BODY));
      held(kept.begin(place(round, 1), "m", BODY)).end(BODY);
      kept.close(`alice-${round}`);
      late.end(BODY);
    }
    expect(forgotten).toEqual([]);
  });

  test("never have more bytes than their session, principal and server may have, whatever happens", () => {
    const step = fc.record({
      session: fc.nat(2),
      turn: fc.nat(5),
      message: fc.nat(3),
      principal: fc.constantFrom("alice", "bob"),
      bytes: fc.integer({ min: 1, max: BODY }),
      fate: fc.constantFrom("wait", "end", "drop", "close"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const kept = new RetainedTurns(BODY, ({ sessionId, id }) => bytes.delete(`${sessionId} ${id}`));
        /** The bytes of what is kept, as a client could count them. */
        const bytes = new Map<string, Map<string, number>>();
        const waiting: (() => void)[] = [];
        for (const { session, turn, message, principal, bytes: size, fate } of steps) {
          const at = place(session, turn, principal);
          const name = `${at.sessionId} ${at.turnId}`;
          const answer = kept.begin(at, `m${message}`, size);
          if (typeof answer === "string") {
            waiting.shift()?.();
            continue;
          }
          const own = bytes.get(name) ?? new Map<string, number>();
          const isNew = !own.has(`m${message}`);
          if (isNew) bytes.set(name, own.set(`m${message}`, size));
          if (fate === "wait") waiting.push(() => answer.end(0));
          else if (fate === "end") answer.end(0);
          else if (fate === "drop" && isNew) {
            answer.drop();
            own.delete(`m${message}`);
          } else answer.end(0);
          if (fate === "close") {
            kept.close(at.sessionId);
            for (const each of [...bytes.keys()]) if (each.startsWith(`${at.sessionId} `)) bytes.delete(each);
          }
          for (const id of new Set(["alice-0", "alice-1", "alice-2", "bob-0", "bob-1", "bob-2"])) {
            let sum = 0;
            for (const [each, messages] of bytes)
              if (each.startsWith(`${id} `)) for (const count of messages.values()) sum += count;
            expect(sum).toBeLessThanOrEqual(BODY * 8);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
