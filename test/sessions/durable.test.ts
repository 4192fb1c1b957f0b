import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { MemorySessionStore } from "../../src/sessions/store/memory-store.ts";
import { SqliteSessionStore } from "../../src/sessions/store/sqlite-store.ts";
import { answerTo, call, testSessions, tool } from "./harness.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("A session that is not durable", () => {
  const tools = [tool("read", "read"), tool("write", "write")];

  test("writes no call to the store, and keeps count of its calls in memory", async () => {
    const store = new MemorySessionStore();
    const { sessions } = await testSessions(tools, { store, limits: { calls: 2 } });
    const session = await sessions.open({ id: "s1", durable: false });
    for (const id of ["c1", "c2"]) {
      expect(await session.turn({ id }).dispatch(call(id, "read"))).toMatchObject({ success: true });
    }
    expect(await session.turn().dispatch(call("c3", "read"))).toMatchObject({
      error: { code: "permission_denied" },
    });
    expect([store.turnIds("s1"), store.counts("s1").size]).toEqual([[], 0]);
    await sessions.close();
  });

  test("keeps its mode, its confirmations and what was approved, and is open after a restart", async () => {
    const file = join(folder, "sessions.db");
    const first = await testSessions(tools, { store: new SqliteSessionStore(file) });
    const session = await first.sessions.open({ id: "s1", durable: false });
    const running = session.turn().dispatch(call("c1", "write"));
    const confirmation = await first.nextConfirmation();
    await first.sessions.answer(confirmation.id, answerTo(confirmation, "always"));
    expect(await running).toMatchObject({ success: true });
    await first.sessions.close();

    const again = await testSessions(tools, { store: new SqliteSessionStore(file) });
    const restored = again.sessions.get("s1");
    // It was approved for the session, and is still not durable.
    expect(await restored?.turn({ id: "t" }).dispatch(call("c1", "write"))).toMatchObject({ success: true });
    await again.sessions.close();
    const store = new SqliteSessionStore(file);
    expect(await store.turnIds("s1")).toEqual([]);
    await store.close();
  });
});
