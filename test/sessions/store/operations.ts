import fc from "fast-check";
import type { CallIdentity } from "../../../src/record/identity.ts";
import type { SessionStore } from "../../../src/sessions/store/store.ts";
import { ALLOWED, APPROVAL, CALL, CONFIRMATION, DENIED, executionOf, MESSAGE, SESSION } from "./records.ts";

/** Something that is done to a store, and what is told of it. */
export interface Operation {
  readonly text: string;
  readonly run: (store: SessionStore) => unknown;
}

const sessionId = fc.constantFrom("s1", "s2");
const turnId = fc.constantFrom("t1", "t2");
const messageId = fc.constantFrom("m1", "m2");
const confirmationId = fc.constantFrom("q1", "q2");
const identity: fc.Arbitrary<CallIdentity> = fc
  .record({
    sessionId,
    turnId,
    messageId,
    callId: fc.constantFrom("call_0", "call_1"),
    digest: fc.constantFrom("d0", "d0", "d1"),
  })
  .map((parts) => ({ ...CALL, ...parts }));

function operation<Given>(
  name: string,
  given: fc.Arbitrary<Given>,
  run: (store: SessionStore, given: Given) => unknown,
): fc.Arbitrary<Operation> {
  return given.map((value) => ({
    text: `${name} ${JSON.stringify(value)}`,
    run: (store) => run(store, value),
  }));
}

/** Operations on few sessions, turns and calls, so that they meet. */
export const OPERATIONS: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 3,
    arbitrary: operation("addSession", sessionId, (store, id) => store.addSession({ ...SESSION, id })),
  },
  operation("setMode", fc.tuple(sessionId, fc.constantFrom("manual", "autonomous")), (store, [id, mode]) =>
    store.setMode(id, mode),
  ),
  operation("removeSession", sessionId, (store, id) => store.removeSession(id)),
  {
    weight: 5,
    arbitrary: operation("addMessage", fc.record({ sessionId, turnId, messageId }), (store, ids) =>
      store.addMessage({ ...MESSAGE, ...ids }),
    ),
  },
  operation("removeTurn", fc.tuple(sessionId, turnId), (store, [id, turn]) => store.removeTurn(id, turn)),
  { weight: 2, arbitrary: operation("count", identity, (store, call) => store.count(call, "write_file")) },
  { weight: 4, arbitrary: operation("claim", identity, (store, call) => store.claim(call)) },
  {
    weight: 3,
    arbitrary: operation(
      "end",
      fc.tuple(identity, fc.constantFrom("one", "other")),
      (store, [call, output]) => store.end(call, executionOf(output)),
    ),
  },
  {
    weight: 2,
    arbitrary: operation("addConfirmation", fc.tuple(confirmationId, identity), (store, [id, call]) =>
      store.addConfirmation({ ...CONFIRMATION, id, ...placeOf(call) }),
    ),
  },
  {
    weight: 4,
    arbitrary: operation(
      "resolveConfirmation",
      fc.tuple(confirmationId, fc.constantFrom(ALLOWED, DENIED)),
      (store, [id, resolution]) => store.resolveConfirmation(id, resolution),
    ),
  },
  operation("addApproval", fc.tuple(confirmationId, sessionId), (store, [id, session]) =>
    store.addApproval({ ...APPROVAL, id, sessionId: session, calls: 2 }),
  ),
  { weight: 3, arbitrary: operation("useApproval", confirmationId, (store, id) => store.useApproval(id)) },
  operation("removeApproval", confirmationId, (store, id) => store.removeApproval(id)),
);

function placeOf({ sessionId, turnId, messageId = "m1", callId }: CallIdentity) {
  return { sessionId, turnId, messageId, callId };
}

/** Does something, and returns what came of it. */
export async function outcomeOf({ run }: Operation, store: SessionStore): Promise<unknown> {
  try {
    return { returned: await run(store) };
  } catch (error) {
    return { threw: (error as { readonly code?: string }).code ?? String(error) };
  }
}

/** Everything that a store has of the sessions, turns and calls of {@link OPERATIONS}. */
export async function contentOf(store: SessionStore): Promise<unknown> {
  const ofSessions = ["s1", "s2"].map(async (session) => ({
    counts: [...(await store.counts(session))],
    turnIds: await store.turnIds(session),
    turns: await Promise.all(
      ["t1", "t2"].map(async (turn) => ({
        messages: await store.messages(session, turn),
        isForgotten: await store.isForgotten(session, turn),
        calls: await Promise.all(["m1", "m2"].map((message) => store.calls(session, turn, message))),
      })),
    ),
  }));
  const pending = (await store.pendingConfirmations()).map(({ confirmation }) => confirmation.id).sort();
  return {
    sessions: await store.sessions(),
    ofSessions: await Promise.all(ofSessions),
    unfinished: await store.unfinishedMessages(),
    pending,
    confirmations: await Promise.all(["q1", "q2"].map((id) => store.confirmation(id))),
    approvals: await store.approvals(),
  };
}
