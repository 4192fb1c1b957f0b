import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { allow } from "../../../src/policy/policy.ts";
import type { StageChanges } from "../../../src/sandboxes/contract/staged-changes.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { GrantedTree } from "../../workspace/granted-tree.ts";
import { answerTo, call, testSessions } from "../harness.ts";

/** Keeps texts that are written in memory. */
function holdIn(session: Session): Map<string, string | undefined> {
  const held = new Map<string, string | undefined>();
  const hold: StageChanges = ({ files }) => ({
    files: Object.assign(Object.create(files), {
      readBytes: async (path: string) => Buffer.from(held.get(path) ?? ""),
      readRange: async (path: string, offset: number, length: number) =>
        Buffer.from(held.get(path) ?? "").subarray(offset, offset + length),
      stat: async (path: string) => ({ kind: "file", size: (held.get(path) ?? "").length, modifiedMs: 0 }),
      write: async (path: string, text: string) => void held.set(path, text),
      delete: async (path: string) => void held.set(path, undefined),
    }),
    writtenBytes: 0,
    changes: undefined,
    end: () => {},
  });
  Object.defineProperty(session, "stageChanges", { get: () => hold });
  return held;
}

test.each([
  "review",
  "audit",
] as const)("in the mode %s, writes are held unasked, and reads see them", async (mode) => {
  const tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
  const { sessions, nextConfirmation } = await testSessions(toolsOf("fs", {}), {
    policy: {
      check: () => allow({ sandbox: "host", capabilities: { fs: [{ directory: tree.root, write: true }] } }),
    },
  });
  const session = await sessions.open({ mode });
  const held = holdIn(session);
  const turn = session.turn();
  const file = { path: "a.txt", content: "new" };
  expect((await turn.dispatch(call("c1", "write_file", file)))?.success).toBe(true);
  expect((await turn.dispatch(call("c2", "read_file", { path: "a.txt" })))?.output).toMatchObject({
    content: "new",
  });
  // A destructive call is asked about, and what it changes is held as well: no note says otherwise.
  const deleted = turn.dispatch(call("c3", "delete_file", { path: "a.txt" }));
  const confirmation = await nextConfirmation();
  expect(confirmation.shown.question).not.toContain("cannot be staged");
  // Changes that were to be held stay so, whatever the mode is when the call runs.
  await session.setMode("autonomous");
  await session.answer(confirmation.id, answerTo(confirmation, "allow"));
  expect((await deleted)?.success).toBe(true);
  expect([...held]).toEqual([["a.txt", undefined]]);
  expect(existsSync(join(tree.root, "a.txt"))).toBe(false);
  await sessions.close();
});
