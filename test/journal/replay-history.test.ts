import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openJournal } from "../../src/journal/journal.ts";
import { replayJournal } from "../../src/journal/read/replay-journal.ts";
import { openCedarPolicy } from "../../src/policy/cedar/cedar-policy.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { strictest } from "../../src/policy/strictest.ts";
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

test("the decisions of a policy in Cedar, also beside rules, are made again from what is kept", async () => {
  using directory = new TemporaryDirectory();
  const send = tool("send", "read");
  const registered = { name: "send", inputSchema: { type: "object" }, sandboxes: ["host"] } as const;
  const rules = new RulePolicy({ rules: [{ tools: ["*"], effect: "allow", sandboxes: ["host"] }] });
  const store = new SqliteSessionStore(join(directory.path, "sessions.sqlite"));
  const { sessions: probe } = await testSessions([send], { policy: rules });
  const subject = [...(await probe.open()).registry.subjects][0] ?? registered;
  await probe.close();
  const cedar = await openCedarPolicy({
    policies: `@id("one session") permit (principal, action, resource) when { context.sessionId != "other" };
      @id("no agents") forbid (principal, action, resource) when { principal has kind && principal.kind == "agent" };`,
    tools: [subject],
    grants: { default: { sandboxes: ["host"] } },
  });
  {
    const policy = strictest(cedar, rules);
    await using journal = await openJournal({ directory: directory.path });
    const { sessions } = await testSessions([send], { policy, journal, store });
    for (const kind of ["user", "agent"] as const) {
      const session = await sessions.open({ principal: { id: kind, kind } });
      await journal.keep(policy, session.registry.subjects);
      await session.turn({}).dispatch(call(kind, "send", { to: "ann" }));
    }
    await sessions.close();
  }
  const { same, different, undecidable } = await replayJournal(directory.path);
  expect({ same, different, undecidable: [...undecidable] }).toEqual({
    same: 2,
    different: [],
    undecidable: [],
  });
});

test("a call whose kept tool or policy was changed is not decided again", async () => {
  using directory = new TemporaryDirectory();
  const policy = new RulePolicy({
    rules: [{ tools: ["*"], sideEffects: ["read"], effect: "allow", sandboxes: ["host"] }],
  });
  {
    const store = new SqliteSessionStore(join(directory.path, "sessions.sqlite"));
    await using journal = await openJournal({ directory: directory.path });
    const { sessions } = await testSessions([tool("send", "read")], { policy, journal, store });
    const session = await sessions.open();
    await journal.keep(policy, session.registry.subjects);
    await session.turn({}).dispatch(call("a", "send", { to: "ann" }));
    await sessions.close();
  }
  const causes = async (): Promise<unknown> => {
    const { same, different, undecidable } = await replayJournal(directory.path);
    return { same, different, undecidable: [...undecidable] };
  };
  expect(await causes()).toEqual({ same: 1, different: [], undecidable: [] });
  for (const [folder, from, to, cause] of [
    ["tools", '"sideEffects":"read"', '"sideEffects":"write"', "tool not kept"],
    ["policies", '"effect":"allow"', '"effect":"deny"', "policy not kept"],
  ] as const) {
    const [name = ""] = readdirSync(join(directory.path, folder));
    const file = join(directory.path, folder, name);
    const text = readFileSync(file, "utf8");
    expect(text).toContain(from);
    writeFileSync(file, text.replace(from, to));
    expect(await causes()).toEqual({ same: 0, different: [], undecidable: [[cause, 1]] });
    writeFileSync(file, text);
  }
});

test("a call with redacted arguments is decided again if no rule reads what was redacted", async () => {
  using directory = new TemporaryDirectory();
  const rules = [
    { tools: ["send"], effect: "allow", sandboxes: ["host"], when: { "/to": { equals: "ann" } } },
    { tools: ["pay"], effect: "allow", sandboxes: ["host"], when: { "/account/token": { prefix: "t-" } } },
    { tools: ["list"], effect: "allow", sandboxes: ["host"], when: { "/names/*": { glob: "[r]*" } } },
    { tools: ["any"], effect: "allow", sandboxes: ["host"] },
  ] as const;
  const policy = new RulePolicy({ rules });
  const names = ["send", "pay", "list", "any"] as const;
  {
    const store = new SqliteSessionStore(join(directory.path, "sessions.sqlite"));
    await using journal = await openJournal({ directory: directory.path });
    const tools = names.map((name) => tool(name, "read"));
    const { sessions } = await testSessions(tools, { policy, journal, store });
    const session = await sessions.open();
    await journal.keep(policy, session.registry.subjects);
    const turn = session.turn({});
    const secret = { password: "hunter2" };
    await turn.dispatch(call("a", "send", { to: "ann", ...secret }));
    await turn.dispatch(call("b", "send", { to: "eve", ...secret }));
    await turn.dispatch(call("c", "any", secret));
    await turn.dispatch(call("d", "pay", { account: { token: "t-1" } }));
    await turn.dispatch(call("e", "list", { names: ["rest", `sk-${"proj-abcDEF0123456789"}`] }));
    // Its name was redacted, so that `to` could be another member.
    await turn.dispatch(call("f", "send", { [`ghp_${"a1B2c3D4e5F6g7H8i9J0"}`]: 1 }));
    await sessions.close();
  }
  const { same, different, undecidable } = await replayJournal(directory.path);
  expect({ same, different, undecidable: [...undecidable] }).toEqual({
    same: 3,
    different: [],
    undecidable: [["arguments redacted", 3]],
  });
});
