import { expect, test } from "vitest";
import type { CallJournal, DecidedRecord } from "../../../src/engine/call/journal.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import type { CallIdentity } from "../../../src/record/identity.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import type { Claim } from "../../../src/sessions/store/store.ts";
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

test("a call is in the journal only once its claim and its entry in the ledger are durable", async () => {
  const order: string[] = [];
  let failing: "claim" | "ledger" | undefined;
  const later = async (what: typeof failing): Promise<void> => {
    await new Promise(setImmediate);
    order.push(`${what}`);
    if (failing === what) throw new Error("the disk is full");
  };
  class SlowStore extends MemorySessionStore {
    override claim(identity: CallIdentity): Claim {
      const claimed = super.claim(identity);
      return later("claim").then(() => claimed) as unknown as Claim;
    }
  }
  const store = new SlowStore();
  const put = store.ledger.putEntry.bind(store.ledger);
  store.ledger.putEntry = (entry) => later("ledger").then(() => put(entry));
  const journal: CallJournal = {
    begin: ({ callId }) => void order.push(`begin ${callId}`),
    end: ({ callId }) => order.push(`end ${callId}`),
    deny: ({ callId }) => order.push(`deny ${callId}`),
  };
  const ran: string[] = [];
  const pay = tool("pay", "read", (_, { callId }) => ran.push(callId));
  const policy = Object.assign(new HostPolicy(), { usesHistory: true });
  const { sessions } = await testSessions([pay], { journal, store, policy });
  const turn = (await sessions.open()).turn();
  await turn.dispatch(call("a", "pay"));
  expect(order.slice(0, 4)).toEqual(["claim", "ledger", "begin a", "end a"]);
  for (const each of ["claim", "ledger"] as const) {
    order.length = 0;
    failing = each;
    expect(await turn.dispatch(call(each, "pay"))).toMatchObject({ error: { code: "sandbox_unavailable" } });
    expect(order).toContain(`deny ${each}`);
    expect(order).not.toContain(`begin ${each}`);
  }
  expect(ran).toEqual(["a"]);
});
