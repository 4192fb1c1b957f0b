/**
 * Writes the fixtures beside this file: a store of sessions and one of programs, as a version before the table `record` wrote
 * them. `node test/record/old-stores/write.ts CHECKOUT`, where that is a checkout of 64eddb8b.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import {
  ALLOWED,
  APPROVAL,
  CALL,
  CONFIRMATION,
  DENIED,
  executionOf,
  MESSAGE,
  SESSION,
} from "../../sessions/store/records.ts";

const checkout = resolve(process.argv[2] ?? "");
const { SqliteSessionStore } = await import(join(checkout, "src/sessions/store/sqlite-store.ts"));
const { SqliteSuspensionStore } = await import(join(checkout, "src/programs/stores/sqlite-store.ts"));
const folder = mkdtempSync(join(tmpdir(), "sandgate-old-"));

const store = new SqliteSessionStore(join(folder, "sessions"));
await store.addSession(SESSION);
await store.addSession({ ...SESSION, id: "ü/2", mode: "manual" });
await store.setMode("ü/2", "autonomous");
await store.addMessage(MESSAGE);
await store.addMessage({ ...MESSAGE, messageId: "m2" });
await store.addMessage({ ...MESSAGE, sessionId: "ü/2", turnId: "t%" });
await store.count(CALL, "write_file");
await store.count({ ...CALL, callId: "call_0/1" }, "pay");
await store.claim(CALL);
const second = { ...CALL, messageId: "m2" };
await store.claim(second);
await store.end(second, executionOf("ended"));
await store.end({ ...second, callId: "call_1", digest: "d1" }, executionOf("never begun"));
await store.addConfirmation(CONFIRMATION);
await store.resolveConfirmation(CONFIRMATION.id, ALLOWED);
await store.addConfirmation({ ...CONFIRMATION, id: "q2", callId: "call_1" });
await store.addConfirmation({ ...CONFIRMATION, id: "q3", sessionId: "ü/2", turnId: "t%" });
await store.resolveConfirmation("q3", DENIED);
const { messageId: _, ...withoutMessage } = CONFIRMATION;
await store.addConfirmation({ ...withoutMessage, id: "q4", callId: "question" });
await store.addApproval({ ...APPROVAL, calls: 2 });
await store.useApproval(APPROVAL.id);
await store.addApproval({ ...APPROVAL, id: "a2", for: "workspace" });
await store.addApproval({ ...APPROVAL, id: "a3" });
await store.removeApproval("a3");
for (const turnId of ["f1", "f2", "f1"]) {
  await store.addMessage({ ...MESSAGE, turnId });
  await store.removeTurn(SESSION.id, turnId);
}
const entry = {
  sessionId: SESSION.id,
  turnId: "t1",
  tool: "pay",
  numbers: [["/amount", 5]],
  isApproved: true,
};
await store.ledger.putEntry({ ...entry, id: "l1", isDone: false });
await store.ledger.putEntry({ ...entry, id: "l2", isDone: true, endedAt: 2_000 });
await store.ledger.putEntry({ ...entry, id: "l3", isDone: true, endedAt: 1_000 });
await store.ledger.dropEntry("l3", 1_000);
store.close();

const program = {
  id: "a".repeat(32),
  revision: 1,
  state: "waiting",
  sessionId: "ü/2",
  turnId: "t1",
  messageId: "m1",
  callId: "c1",
  principal: "ann",
  toolName: "run_program",
  digest: "d1",
  build: "b1",
  template: "t1",
  definitions: "e1",
  suspendedAt: 1_000,
  waitUntil: 9_000,
  keyId: "k1",
  open: [{ number: 1, toolName: "pay" }],
  sealed: new Uint8Array([0, 1, 255]),
};
const programs = new SqliteSuspensionStore(join(folder, "programs"));
await programs.addTemplate("t1", new Uint8Array(10_000).fill(7));
await programs.addTemplate("unused", new Uint8Array([1]));
await programs.put(program, [{ number: 1, digest: "x", sealed: new Uint8Array([3, 4]) }]);
await programs.claim(program.id, 1, { number: 2, digest: "y" });
await programs.put({ ...program, id: "b".repeat(32), callId: "c1/2", suspendedAt: 500 }, []);
await programs.take("b".repeat(32), 1);
programs.close();

for (const name of ["sessions", "programs"]) {
  writeFileSync(
    join(import.meta.dirname, `${name}.db.gz`),
    gzipSync(readFileSync(join(folder, name)), { level: 9 }),
  );
}
rmSync(folder, { recursive: true });
