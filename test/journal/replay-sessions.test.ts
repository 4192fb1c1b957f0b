import { join } from "node:path";
import { expect, test } from "vitest";
import { openJournal } from "../../src/journal/journal.ts";
import { replayJournal } from "../../src/journal/read/replay-journal.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { SqliteSessionStore } from "../../src/sessions/store/sqlite-store.ts";
import { sandgate } from "../cli/sandgate.ts";
import { answerTo, call, testSessions, tool } from "../sessions/harness.ts";
import { TemporaryDirectory } from "./records.ts";

const policy = new RulePolicy({
  rules: [
    { name: "all", tools: ["read", "write", "edit", "shell"], effect: "allow", sandboxes: ["host"] },
    { name: "sent", tools: ["send"], effect: "ask", sandboxes: ["host"], remember: "session" },
  ],
});

test("what the policy decided is replayed and copied as a test, whatever the modes and approvals of sessions made of it", async () => {
  using directory = new TemporaryDirectory();
  {
    const store = new SqliteSessionStore(join(directory.path, "sessions.sqlite"));
    await using journal = await openJournal({ directory: directory.path });
    const tools = [
      tool("read", "read"),
      tool("write", "write"),
      tool("edit", "write"),
      tool("shell", "write"),
      tool("send", "write"),
    ];
    const confirmations = { tools: { shell: "deny" } } as const;
    const { sessions } = await testSessions(tools, { policy, journal, store, confirmations });
    const session = await sessions.open();
    await journal.keep(policy, session.registry.subjects);
    sessions.onConfirmation((event) => {
      if (event.type !== "requested") return;
      const { toolName } = event.confirmation.shown;
      const decision = toolName === "send" ? "always" : toolName === "edit" ? "deny" : "allow";
      void sessions.answer(event.confirmation.id, answerTo(event.confirmation, decision));
    });
    const turn = session.turn();
    const ids = ["read", "write", "edit", "shell", "send", "send"].map(
      (name, index) => [`${name}-${index}`, name] as const,
    );
    const outcomes: unknown[] = [];
    for (const [id, name] of ids) outcomes.push((await turn.dispatch(call(id, name)))?.error?.code);
    expect(outcomes).toEqual([
      undefined,
      undefined,
      "user_denied",
      "permission_denied",
      undefined,
      undefined,
    ]);
    await sessions.close();
  }
  const { same, different, undecidable } = await replayJournal(directory.path);
  expect({ same, different, undecidable }).toEqual({ same: 6, different: [], undecidable: new Map() });
  const { stdout } = await sandgate([
    "journal",
    "show",
    "--directory",
    directory.path,
    "--as",
    "policy-test",
  ]);
  const expected = Array.from(stdout.matchAll(/expect: "(.*)"/g), ([, decision]) => decision);
  expect(expected).toEqual(["allow", "allow", "allow", "allow", "ask", "ask"]);
  const why = await sandgate(["why", "edit-2", "--directory", directory.path]);
  expect(why.stdout).toContain("rules: all\n  the policy alone decides: allow\n");
});
