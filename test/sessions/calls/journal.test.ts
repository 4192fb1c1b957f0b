import { expect, test } from "vitest";
import type { CallJournal } from "../../../src/engine/call/journal.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { call, testSessions, tool } from "../harness.ts";

test.each([
  ["without a store", {}],
  ["with a store", { store: new MemorySessionStore() }],
])("sessions %s record their calls in the journal of the context", async (_title, more) => {
  const records: string[] = [];
  const journal: CallJournal = {
    begin: ({ callId }) => {
      records.push(`begin ${callId}`);
      return undefined;
    },
    end: ({ callId }) => records.push(`end ${callId}`),
    deny: ({ callId }) => records.push(`deny ${callId}`),
  };
  const { sessions } = await testSessions([tool("look", "none")], { journal, ...more });
  const turn = (await sessions.open()).turn();
  await turn.dispatch(call("a", "look"));
  await turn.dispatch(call("b", "unknown"));
  expect(records).toEqual(["begin a", "end a", "deny b"]);
});
