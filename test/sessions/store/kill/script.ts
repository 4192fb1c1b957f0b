import type { SessionStore } from "../../../../src/sessions/store/store.ts";
import { ALLOWED, APPROVAL, CALL, CONFIRMATION, executionOf, MESSAGE, SESSION } from "../records.ts";

/** How far a call has come, as a session reads it from its store. */
export type CallState = "unknown" | "not begun" | "waiting" | "begun" | "ended";

export interface Step {
  readonly name: string;
  readonly write: (store: SessionStore) => unknown;
  /** The states of both calls after this step. */
  readonly states: readonly [CallState, CallState];
}

const SECOND = { ...CALL, callId: "call_1", digest: "d1" };
const SECOND_CONFIRMATION = { ...CONFIRMATION, id: "q2", callId: "call_1" };

/** The writes in the life of two calls, one after the other. */
export const SCRIPT: readonly Step[] = [
  {
    name: "the session is opened",
    write: (store) => store.addSession(SESSION),
    states: ["unknown", "unknown"],
  },
  {
    name: "the message is received",
    write: (store) => store.addMessage(MESSAGE),
    states: ["not begun", "not begun"],
  },
  {
    name: "the first call is counted",
    write: (store) => store.count(CALL, "write_file"),
    states: ["not begun", "not begun"],
  },
  {
    name: "a person is asked about the first call",
    write: (store) => store.addConfirmation(CONFIRMATION),
    states: ["waiting", "not begun"],
  },
  {
    name: "the second call is counted",
    write: (store) => store.count(SECOND, "write_file"),
    states: ["waiting", "not begun"],
  },
  {
    name: "a person is asked about the second call",
    write: (store) => store.addConfirmation(SECOND_CONFIRMATION),
    states: ["waiting", "waiting"],
  },
  {
    name: "the first call is allowed",
    write: (store) => store.resolveConfirmation("q1", { ...ALLOWED, choice: "always" }),
    states: ["not begun", "waiting"],
  },
  {
    name: "the answer is remembered",
    write: (store) => store.addApproval({ ...APPROVAL, calls: 2 }),
    states: ["not begun", "waiting"],
  },
  {
    name: "the first call is claimed",
    write: (store) => store.claim(CALL),
    states: ["begun", "waiting"],
  },
  {
    name: "the second call is denied",
    write: (store) =>
      store.resolveConfirmation("q2", { decision: "deny", choice: "deny", by: "bob", at: 1_009 }),
    states: ["begun", "not begun"],
  },
  {
    name: "the second call ends without having begun",
    write: (store) => store.end(SECOND, executionOf("call_1")),
    states: ["begun", "ended"],
  },
  {
    name: "the first call ends",
    write: (store) => store.end(CALL, executionOf("call_0")),
    states: ["ended", "ended"],
  },
  {
    name: "the approval is used",
    write: (store) => store.useApproval("q1"),
    states: ["ended", "ended"],
  },
];

/** Reads the states of both calls. */
export async function statesOf(store: SessionStore): Promise<readonly CallState[]> {
  const calls = await store.calls("s1", "t1", "m1");
  const pending = await store.pendingConfirmations();
  return ["call_0", "call_1"].map((id): CallState => {
    const known = calls.find(({ callId }) => callId === id);
    if (known === undefined) return "unknown";
    if (known.state !== "not-begun") return known.state;
    const isOpen = pending.some(
      ({ confirmation, resolution }) => confirmation.callId === id && resolution === undefined,
    );
    return isOpen ? "waiting" : "not begun";
  });
}
