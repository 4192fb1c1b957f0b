import { SqliteSessionStore } from "../../../../src/sessions/store/sqlite-store.ts";

/** Adds sessions to a store until it is killed, and prints how many are in it, in a line each. */
const store = new SqliteSessionStore(process.argv[2] ?? "");
for (let number = 0; ; number++) {
  // So large that the log begins anew after every hundred or so.
  await store.addSession({
    id: `s${number}`,
    workspace: `/${"x".repeat(40_000)}`,
    mode: "manual",
    kind: "main",
    openedAt: 0,
  });
  process.stdout.write(`${number + 1}\n`);
}
