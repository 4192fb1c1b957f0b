import { describe, expect, test } from "vitest";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { CustomMode, SessionMode } from "../../../src/sessions/modes/mode.ts";
import { Modes } from "../../../src/sessions/modes/modes.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { answerTo, call, testSessions, tool } from "../harness.ts";

const TOOLS = [
  tool("read", "read"),
  tool("write", "write"),
  tool("shell", "execute"),
  tool("rm", "destructive"),
];
const CAREFUL: CustomMode = { base: "cautious", tools: { write: "auto", read: "prompt", rm: "deny" } };

const run = (session: Session, name: string): Promise<ToolExecution | null> =>
  session.turn().dispatch(call("c", name));

/** What becomes of a call that a person, if one is asked, denies. */
async function levelIn(mode: SessionMode, name: string, more = {}): Promise<string> {
  const { sessions, nextConfirmation } = await testSessions(TOOLS, more);
  const session = await sessions.open({ mode });
  const ended = run(session, name);
  const first = await Promise.race([ended, nextConfirmation()]);
  if (first !== null && "kind" in first) {
    await sessions.answer(first.id, answerTo(first, "deny"));
    await ended;
    await sessions.close();
    return "prompt";
  }
  await sessions.close();
  return first?.success ? "auto" : (first?.error?.code ?? "aborted");
}

describe("a mode of one's own", () => {
  test.each([
    ["write", "auto"],
    ["read", "prompt"],
    ["rm", "permission_denied"],
    ["shell", "prompt"],
  ])("decides on %s with %s, given with the session or by its name", async (name, level) => {
    expect(await levelIn(CAREFUL, name)).toBe(level);
    expect(await levelIn("careful", name, { confirmations: { modes: { careful: CAREFUL } } })).toBe(level);
  });

  test("comes before confirmations.tools, except for their deny", async () => {
    const confirmations = { tools: { write: "prompt", read: "deny" } } as const;
    expect(await levelIn(CAREFUL, "write", { confirmations })).toBe("auto");
    expect(await levelIn(CAREFUL, "read", { confirmations })).toBe("permission_denied");
  });

  test("does not lower what its base raises", async () => {
    expect(await levelIn({ base: "manual", tools: { read: "auto" } }, "read")).toBe("prompt");
    expect(await levelIn({ base: "plan", tools: { write: "auto" } }, "write")).toBe("permission_denied");
  });

  test("survives a restart; by its name, it is what the configuration says then", async () => {
    const store = new MemorySessionStore();
    const options = (modes: Record<string, CustomMode>): object => ({ store, confirmations: { modes } });
    const before = await testSessions(TOOLS, options({ careful: CAREFUL, gone: CAREFUL }));
    await before.sessions.open({ id: "inline", mode: CAREFUL });
    await before.sessions.open({ id: "named", mode: "careful" });
    await before.sessions.open({ id: "gone", mode: "gone" });
    await before.sessions.close();
    const after = await testSessions(TOOLS, options({ careful: { base: "autonomous" } }));
    const modeOf = (id: string): SessionMode | undefined => after.sessions.get(id)?.mode;
    expect(modeOf("inline")).toEqual(CAREFUL);
    expect(modeOf("named")).toBe("careful");
    expect((await run(after.sessions.get("named") as Session, "rm"))?.success).toBe(true);
    // The strictest one stands for a mode that is not known.
    expect(modeOf("gone")).toBe("manual");
    await after.sessions.close();
  });

  test.each([
    ["unknown", "unknown"],
    ["no base", { tools: {} }],
    ["a base that is none", { base: "careful" }],
    ["an unknown level", { base: "plan", tools: { a: "prompt_once" } }],
    ["an unknown member", { base: "plan", tool: {} }],
    ["a list of tools", { base: "plan", tools: ["a"] }],
    ["an empty name of a tool", { base: "plan", tools: { "": "auto" } }],
    [
      "too many tools",
      { base: "plan", tools: Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [i, "auto"])) },
    ],
    ["null", null],
    ["a number", 7],
  ])("is refused: %s", async (_what, mode) => {
    const { sessions } = await testSessions(TOOLS);
    await expect(sessions.open({ mode: mode as SessionMode })).rejects.toThrow(TypeError);
    const session = await sessions.open();
    await expect(session.setMode(mode as SessionMode)).rejects.toThrow(TypeError);
    expect(session.mode).toBe("cautious");
    await sessions.close();
  });

  test.each(["cautious", "", "a b", "{", "x".repeat(65)])("cannot have the name %j", (name) => {
    expect(() => new Modes({ [name]: CAREFUL })).toThrow(TypeError);
  });
});

test("a mode of a store that cannot be read is taken for manual", () => {
  for (const text of [
    "",
    "later",
    "{",
    '{"mode":{"base":"later"}}',
    '{"mode":7}',
    '{"mode":"later","plan":"approved"}',
  ])
    expect(new Modes().restore(text)).toMatchObject({ base: "manual", isPlanApproved: false });
  expect(new Modes().restore('{"mode":"cautious","plan":"approved"}')).toMatchObject({
    base: "cautious",
    isPlanApproved: false,
  });
});

describe.each(["review", "audit"] as const)("in the mode %s", (mode) => {
  test("a call whose changes cannot be staged is asked about, with a note, whatever its tool says", async () => {
    const tools = [tool("shell", "execute", undefined, { confirm: "auto" }), ...TOOLS.slice(0, 2)];
    const { sessions, nextConfirmation } = await testSessions(tools);
    const session = await sessions.open({ mode });
    for (const name of ["shell", "write"]) {
      const ended = run(session, name);
      const confirmation = await nextConfirmation();
      expect(confirmation.shown.question).toContain("cannot be staged, and takes effect at once");
      await sessions.answer(confirmation.id, answerTo(confirmation, "allow"));
      expect((await ended)?.success).toBe(true);
    }
    expect((await run(session, "read"))?.success).toBe(true);
    await sessions.close();
  });
});

test("changes of a mode are kept in the order in which they were made", async () => {
  const store = new MemorySessionStore();
  const { sessions } = await testSessions(TOOLS, { store });
  const session = await sessions.open({ id: "s1", mode: "cautious" });
  await Promise.all([session.setMode("autonomous"), session.setMode("plan"), session.setMode("manual")]);
  expect(session.mode).toBe("manual");
  expect(store.sessions()).toMatchObject([{ id: "s1", mode: "manual" }]);
  await sessions.close();
});

test("a mode that cannot be kept does not hold", async () => {
  const store = new MemorySessionStore();
  const { sessions } = await testSessions(TOOLS, { store });
  const session = await sessions.open();
  store.setMode = () => {
    throw new Error("the disk is full");
  };
  await expect(session.setMode("autonomous")).rejects.toThrow();
  expect(session.mode).toBe("cautious");
  await sessions.close();
});
