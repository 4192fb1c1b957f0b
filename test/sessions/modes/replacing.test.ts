import { expect, test, vi } from "vitest";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { GrantedTree } from "../../workspace/granted-tree.ts";
import { call, testSessions, tool } from "../harness.ts";

const TOOLS = [tool("read", "read"), tool("write", "write")];
const confirmations = { modes: { own: { base: "autonomous" } } } as const;

test("a session in a mode of the configuration decides as the new one says, from the next call on", async () => {
  const { sessions } = await testSessions(TOOLS, { confirmations });
  const [session, other] = [await sessions.open({ mode: "own" }), await sessions.open({ mode: "cautious" })];
  const changes: unknown[] = [];
  sessions.onModeChange((change) => changes.push(change));
  const write = async () => (await session.turn().dispatch(call("c", "write")))?.error?.code ?? "ran";
  expect(await write()).toBe("ran");
  sessions.replaceModes({ own: { base: "autonomous", tools: { write: "deny" } } });
  expect(await write()).toBe("permission_denied");
  expect(changes).toMatchObject([{ sessionId: session.id, mode: "own", isPlanApproved: false }]);
  sessions.replaceModes({ own: { base: "autonomous", tools: { write: "deny" } } });
  expect(changes).toHaveLength(1);
  expect(other.mode).toBe("cautious");
  await sessions.close();
});

test("manual takes the place of a mode that is gone, until it is there again or the mode is changed", async () => {
  const store = new MemorySessionStore();
  const { sessions } = await testSessions(TOOLS, { confirmations, store });
  const [session, changed] = [await sessions.open({ mode: "own" }), await sessions.open({ mode: "own" })];
  sessions.replaceModes({});
  expect([session.mode, changed.mode]).toEqual(["manual", "manual"]);
  await changed.setMode("plan");
  await expect(sessions.open({ mode: "own" })).rejects.toThrow(TypeError);
  sessions.replaceModes(confirmations.modes);
  expect([session.mode, changed.mode]).toEqual(["own", "plan"]);
  expect(store.sessions().map(({ mode }) => mode)).toEqual(["own", "plan"]);
  await sessions.close();
});

test("a plan that a person approved stays approved only in a mode that awaits one", async () => {
  const { sessions } = await testSessions(TOOLS, { confirmations: { modes: { own: { base: "plan" } } } });
  const session = await sessions.open({ mode: "own" });
  await session.approvePlan("eve", "q1");
  sessions.replaceModes({ own: { base: "plan", tools: { write: "deny" } } });
  expect(session.isPlanApproved).toBe(true);
  sessions.replaceModes({ own: { base: "manual" } });
  expect(session.isPlanApproved).toBe(false);
  await sessions.close();
});

test("a mode that is changed while it is replaced is the new one", async () => {
  const { sessions } = await testSessions(TOOLS, { confirmations });
  const session = await sessions.open();
  const setting = session.setMode("own");
  sessions.replaceModes({ own: { base: "manual" } });
  await setting;
  expect(session.modeState).toMatchObject({ mode: "own", base: "manual" });
  await sessions.close();
});

test("changes are held from when a mode holds them, and a session without a workspace asks", async () => {
  using tree = new GrantedTree();
  const { sessions } = await testSessions(TOOLS, { confirmations });
  const [session, bare] = [
    await sessions.open({ mode: "own", workspace: tree.root }),
    await sessions.open({ mode: "own" }),
  ];
  expect(session.stageChanges).toBeUndefined();
  sessions.replaceModes({ own: { base: "review" } });
  await vi.waitUntil(() => session.stageChanges !== undefined);
  expect(bare.stageChanges).toBeUndefined();
  expect(bare.modeState.base).toBe("review");
  await sessions.close();
});

test("nothing is replaced if a mode is invalid", async () => {
  const { sessions } = await testSessions(TOOLS, { confirmations });
  const session = await sessions.open({ mode: "own" });
  const modes = { own: { base: "manual" }, cautious: { base: "autonomous" } } as const;
  expect(() => sessions.replaceModes(modes)).toThrow("the mode 'cautious' cannot be defined again");
  expect(session.modeState.base).toBe("autonomous");
  await sessions.close();
});
