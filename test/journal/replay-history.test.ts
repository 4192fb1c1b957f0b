import { join } from "node:path";
import { expect, test } from "vitest";
import { openJournal } from "../../src/journal/journal.ts";
import { replayJournal } from "../../src/journal/read/replay-journal.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { SqliteSessionStore } from "../../src/sessions/store/sqlite-store.ts";
import { call, testSessions, tool } from "../sessions/harness.ts";
import { TemporaryDirectory } from "./records.ts";

test("a decision that depended on the user's words is counted as one that cannot be made again", async () => {
  using directory = new TemporaryDirectory();
  const when = { "/to": { from: ["user" as const] } };
  const policy = new RulePolicy({ rules: [{ tools: ["send"], effect: "allow", sandboxes: ["host"], when }] });
  {
    const store = new SqliteSessionStore(join(directory.path, "sessions.sqlite"));
    await using journal = await openJournal({ directory: directory.path });
    const { sessions } = await testSessions([tool("send", "read")], { policy, journal, store });
    const session = await sessions.open();
    await journal.keep(policy, session.registry.subjects);
    const turn = session.turn({ userText: "Write to ann." });
    expect((await turn.dispatch(call("a", "send", { to: "ann" })))?.success).toBe(true);
    expect((await turn.dispatch(call("b", "send", { to: "eve" })))?.success).toBe(false);
    await sessions.close();
  }
  const { same, different, undecidable } = await replayJournal(directory.path);
  expect({ same, different }).toEqual({ same: 1, different: [] });
  expect([...undecidable]).toEqual([["history not recorded", 1]]);
});
