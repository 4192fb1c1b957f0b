/**
 * A process that runs one call of a session, which a person is asked about. It prints where it is, and goes on when it reads
 * a line. Then the call runs for ever, or ends; in the last mode its end never reaches the store.
 */
import { appendFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { openJournal } from "../../../src/journal/journal.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import { answerTo, call, testSessions, tool } from "../harness.ts";

const [, , folder = "", mode = ""] = process.argv;
const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
const journal = await openJournal({ directory: join(folder, "journal") });
const store = new SqliteSessionStore(join(folder, "store.db"));
if (mode === "end lost") store.end = () => new Promise(() => {});
const write = tool("write_file", "write", () => {
  appendFileSync(join(folder, "effects"), "ran\n");
  if (mode !== "running") return "written";
  writeSync(1, "running\n");
  return new Promise(() => {});
});
const { sessions, nextConfirmation, events } = await testSessions([write], { store, journal });
const session = await sessions.open({ id: "s1", principal: { id: "ann", kind: "user" } });
void session.turn({ id: "t1" }).dispatchAll([call("c1", "write_file")], { messageId: "m1" });
const confirmation = await nextConfirmation();
writeSync(1, "waiting\n");
await lines.next();
await session.answer(confirmation.id, answerTo(confirmation, "allow"));
while (!events.some(({ type }) => type === "tool.completed")) await new Promise(setImmediate);
await journal.flush();
writeSync(1, "ended\n");
setInterval(() => {}, 1_000);
