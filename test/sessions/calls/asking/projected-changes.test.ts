import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { allow } from "../../../../src/policy/policy.ts";
import type { ProgramContext } from "../../../../src/tool/tool-traits.ts";
import { toolsOf } from "../../../../src/toolsets/toolsets.ts";
import { unavailable } from "../../../sandboxes/process/availability.ts";
import { answerTo, call, testSessions, tool } from "../../harness.ts";

test.skipIf(unavailable)("a person who confirms a commit is shown the trailers that it gets", async () => {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), "commit-")));
  onTestFinished(() => rmSync(workspace, { recursive: true }));
  const tools = toolsOf("git", {
    commitTrailers: ({ sessionId }) => ({ "X-AI-Model": "model-1", "X-Session": sessionId }),
  });
  const capabilities = { fs: [{ directory: workspace, write: true }] };
  const policy = { check: () => allow({ sandbox: "process", capabilities }) };
  const { sessions, nextConfirmation } = await testSessions(tools, { policy });
  const session = await sessions.open({ workspace });
  const result = session.turn().dispatch(call("c1", "git_commit", { message: "Second" }));
  const confirmation = await nextConfirmation();
  expect(confirmation.shown.projectedChanges).toEqual([
    "commit trailer X-AI-Model: model-1",
    `commit trailer X-Session: ${session.id}`,
  ]);
  await session.answer(confirmation.id, answerTo(confirmation, "deny"));
  expect((await result)?.error).toMatchObject({ code: "user_denied" });
});

test("a tool learns about the call whose changes it projects, and may fail to project any", async () => {
  const seen: ProgramContext[] = [];
  const projecting = tool("save", "write", undefined, {
    projectChanges: (_, context) => {
      seen.push(context);
      throw new Error("not today");
    },
  });
  const embedder = { tenant: "acme" };
  const { sessions, nextConfirmation } = await testSessions([projecting], { embedder });
  const principal = { id: "ann", kind: "user" } as const;
  const session = await sessions.open({ principal, workspace: tmpdir() });
  const turn = session.turn();
  const result = turn.dispatch(call("c1", "save"));
  const confirmation = await nextConfirmation();
  expect(confirmation.shown.projectedChanges).toEqual(["(the tool could not say what it would change)"]);
  expect(seen).toEqual([
    {
      callId: "c1",
      sessionId: session.id,
      turnId: turn.id,
      toolName: "save",
      principal,
      workspace: tmpdir(),
      embedder,
    },
  ]);
  await session.answer(confirmation.id, answerTo(confirmation, "deny"));
  await result;
});
