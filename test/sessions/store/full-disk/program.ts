/** Fills the disk on which a store is while a call runs, and makes room again. Prints what became of it. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SqliteSessionStore } from "../../../../src/sessions/store/sqlite-store.ts";
import { call, Gate, testSessions, tool } from "../../harness.ts";

const [, , disk = ""] = process.argv;
const file = join(disk, "store.db");
const filler = join(disk, "filler");
const warnings: string[] = [];
process.on("warning", ({ message }) => warnings.push(message));

function fill(): void {
  for (let bytes = 1_048_576; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(bytes), { flag: "a" });
    } catch {
      // The rest is smaller.
    }
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(5);
}

const gate = new Gate();
// More than what is free in the pages that the log has already.
const output = "x".repeat(500_000);
const large = async (...args: Parameters<typeof gate.host>): Promise<string> => {
  await gate.host(...args);
  return output;
};
const { sessions } = await testSessions([tool("large", "read", large)], {
  store: new SqliteSessionStore(file),
});
const session = await sessions.open({ id: "s1" });
const result = session.turn({ id: "t1" }).dispatchAll([call("c1", "large")], { messageId: "m1" });
await gate.hasBegun(1);
fill();
gate.release("c1");
const [execution] = await result;
const problem = sessions.problem;
const refused = await session
  .turn()
  .dispatch(call("c2", "large"))
  .catch((error: { readonly code: string }) => error.code);
rmSync(filler);
await until(() => sessions.problem === undefined);
await sessions.close();

const again = await testSessions([tool("large", "read", large)], { store: new SqliteSessionStore(file) });
const [message] = (await (await again.sessions.get("s1")?.findTurn("t1"))?.messages()) ?? [];
const kept = message?.executions[0];
await again.sessions.close();
console.log(
  JSON.stringify({
    success: execution?.success,
    problem,
    refused,
    begun: gate.begun,
    warnings,
    kept: kept?.output === output,
  }),
);
process.exit(0);
