import { expect, test } from "vitest";
import type { CallJournal, DecidedRecord } from "../../../src/engine/call/journal.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { answerTo, call, testSessions, tool } from "../harness.ts";

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

test.each([
  "allow",
  "deny",
] as const)("the record of a call has who answered with %s, and after how long", async (choice) => {
  const answers: unknown[] = [];
  const keep = ({ answer }: DecidedRecord): undefined => {
    answers.push(answer);
  };
  const journal: CallJournal = { begin: keep, end: () => {}, deny: keep };
  const { sessions, nextConfirmation } = await testSessions([tool("save", "write")], { journal });
  const session = await sessions.open();
  const done = session.turn().dispatch(call("a", "save"));
  const confirmation = await nextConfirmation();
  await session.answer(confirmation.id, answerTo(confirmation, choice));
  await done;
  expect(answers).toEqual([{ by: "eve", decision: choice, afterMs: expect.any(Number) }]);
});
