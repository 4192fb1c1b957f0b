/**
 * `npm run bench:restate-stores`: how long operations of the stores take on a node of Restate on this machine, one after the
 * other, each on an object of its own; a number chooses how often each is done. `bare call` is a handler that does nothing.
 */
import { randomUUID } from "node:crypto";
import { indexObject } from "../../src/restate/objects/object-keys.ts";
import { RestateSessionStore } from "../../src/restate/store/session-store.ts";
import { RestateSuspensionStore } from "../../src/restate/store/suspension-store.ts";
import { startRestateStores } from "../../test/restate/store/restate-stores.ts";
import {
  ALLOWED,
  APPROVAL,
  CALL,
  CONFIRMATION,
  executionOf,
  MESSAGE,
  SESSION,
} from "../../test/sessions/store/records.ts";

const count = Number(process.argv[2] ?? "100");
await using stores = await startRestateStores();
const { ingress } = stores;
const options = { ingress, prefix: "bench/" };
const sessions = new RestateSessionStore(options);
const programs = new RestateSuspensionStore(options);

/** Prints the median and the 95th percentile of the milliseconds that an operation takes. */
async function measure(name: string, run: (index: number) => unknown): Promise<void> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const begun = performance.now();
    await run(index);
    times.push(performance.now() - begun);
  }
  times.sort((one, other) => one - other);
  const at = (part: number): string => (times[Math.floor(part * count)] ?? 0).toFixed(1).padStart(8);
  console.log(`${name.padEnd(22)}${at(0.5)}${at(0.95)}`);
}

/** Prints how many operations a second are done if many come at once. */
async function measureMany(name: string, many: number, run: (index: number) => unknown): Promise<void> {
  const begun = performance.now();
  await Promise.all(Array.from({ length: many }, (_, index) => run(index)));
  const seconds = (performance.now() - begun) / 1_000;
  console.log(`${name.padEnd(46)}${Math.round(many / seconds)} a second`);
}

const call = (index: number) => ({ ...CALL, sessionId: `s${index}` });
const entry = { sessionId: "s", turnId: "t", tool: "pay", numbers: [], isApproved: false, isDone: false };
const program = (index: number, revision: number) => ({
  id: `p${index}`,
  revision,
  state: "waiting" as const,
  sessionId: `s${index}`,
  turnId: "t1",
  messageId: "m1",
  callId: "c1",
  toolName: "run_program",
  digest: "d",
  build: "b",
  template: "t",
  definitions: "e",
  suspendedAt: 1,
  waitUntil: 2,
  keyId: "k",
  open: [],
  sealed: new Uint8Array(20_000),
});

console.log(`${"ms".padEnd(22)}${"median".padStart(8)}${"95 %".padStart(8)}`);
const pinged = { ...indexObject({ prefix: "bench/" }, ""), handler: "ping" };
await measure("bare call", () => ingress.call({ ...pinged, idempotencyKey: randomUUID() }));
await measure("addSession", (index) => sessions.addSession({ ...SESSION, id: `s${index}` }));
await measure("addMessage", (index) => sessions.addMessage({ ...MESSAGE, sessionId: `s${index}` }));
await measure("count", (index) => sessions.count(call(index), "write_file"));
await measure("claim", (index) => sessions.claim(call(index)));
await measure("end", (index) => sessions.end(call(index), executionOf("call_0")));
await measure("calls", (index) => sessions.calls(`s${index}`, "t1", "m1"));
await measure("addConfirmation", (index) =>
  sessions.addConfirmation({ ...CONFIRMATION, id: `q${index}`, sessionId: `s${index}` }),
);
await measure("resolveConfirmation", (index) => sessions.resolveConfirmation(`q${index}`, ALLOWED));
await measure("confirmation", (index) => sessions.confirmation(`q${index}`));
await measure("addApproval", (index) =>
  sessions.addApproval({ ...APPROVAL, id: `a${index}`, sessionId: `s${index}` }),
);
await measure("useApproval", (index) => sessions.useApproval(`a${index}`));
await measure("ledger.putEntry", (index) => sessions.ledger.putEntry({ ...entry, id: `e${index}` }));
await measure("removeTurn", (index) => sessions.removeTurn(`s${index}`, "t1"));
await measure("removeSession", (index) => sessions.removeSession(`s${index}`));
await measure("put (first)", (index) => programs.put(program(index, 1), []));
await measure("take", (index) => programs.take(`p${index}`, 1));
await measure("put (again)", (index) => programs.put(program(index, 2), []));
await measure("claim of a program", (index) => programs.claim(`p${index}`, 1, { number: 1, digest: "d" }));
await measure("get", (index) => programs.get(`p${index}`));
for (let index = 0; index < 100; index++) await sessions.addSession({ ...SESSION, id: `many${index}` });
const messageOf = (index: number) => ({
  ...MESSAGE,
  messageId: `m${index}`,
  sessionId: `many${index % 100}`,
});
await measureMany("1,000 messages at once in 100 sessions", 1_000, (index) =>
  sessions.addMessage(messageOf(index)),
);
await measureMany("1,000 claims at once in 100 sessions", 1_000, (index) =>
  sessions.claim({ ...CALL, ...messageOf(index) }),
);
await measureMany("1,000 messages at once in one session", 1_000, (index) =>
  sessions.addMessage({ ...messageOf(index), turnId: "t2", sessionId: "many0" }),
);
sessions.close();
programs.close();
