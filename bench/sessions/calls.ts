import { type DispatchContext, ToolDispatchEngine } from "sandgate";
import { MemorySessionStore, openSessions, type SessionStore } from "sandgate/sessions";
import type { OpenCase, Question } from "../harness/case.ts";
import { isEcho } from "../setting.ts";
import { CALL, openParts, sessionMembers } from "./setting.ts";

/** A model answers a message of a user with a few messages of a few calls. */
const CALLS_PER_TURN = 16;

/** What a session costs a call that nobody is asked about. */
export const calls: Question = {
  name: "sessions",
  cases: [
    { name: "dispatch with the members that a session sets", open: () => openDispatch(sessionMembers()) },
    { name: "dispatch without them", open: () => openDispatch({}) },
    { name: "a call of a session", open: () => openSession(undefined) },
    {
      name: "a call of a session that keeps its calls in memory",
      open: () => openSession(new MemorySessionStore()),
    },
  ],
};

async function openDispatch(members: Partial<DispatchContext>): Promise<OpenCase> {
  const parts = await openParts("read");
  const ctx: DispatchContext = { ...parts, sessionId: "bench", ...members };
  const engine = new ToolDispatchEngine();
  return { run: () => engine.dispatch(CALL, ctx), check: isEcho, close: () => parts.sandboxes.close() };
}

async function openSession(store: SessionStore | undefined): Promise<OpenCase> {
  const parts = await openParts("read");
  const sessions = await openSessions({ ...parts, ...(store && { store }) });
  const session = await sessions.open();
  let turn = session.turn();
  let count = 0;
  return {
    run: () => {
      if (++count % CALLS_PER_TURN === 0) turn = session.turn();
      return turn.dispatch(CALL);
    },
    check: isEcho,
    close: async () => {
      await sessions.close();
      await parts.sandboxes.close();
    },
  };
}
