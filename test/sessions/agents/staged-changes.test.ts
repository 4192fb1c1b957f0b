import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { allow } from "../../../src/policy/policy.ts";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { agentSessions, run } from "./harness.ts";

function workspace(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-agents-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, "a.txt"), "A\n");
  return root;
}

/** Sessions whose agents write one file and read it again, each of them one level deeper. */
async function writing(root: string, depth: number, unasked: readonly string[] = ["spawn_agent"]) {
  const seen: unknown[] = [];
  const { sessions } = await agentSessions(
    async ({ session }) => {
      const path = `agent-${session.origin?.depth}.txt`;
      const { error } = await run(session, "write_file", { path, content: "by an agent\n" });
      if (error !== undefined) throw new Error(error.message);
      await run(session, "write_file", { path: "a.txt", content: `changed by ${path}\n` });
      seen.push((await run(session, "read_file", { path: "a.txt" })).output);
      seen.push(session.changes);
      if ((session.origin?.depth ?? 0) < depth) await run(session, "spawn_agent", { prompt: "Go on." });
      return "done";
    },
    {
      tools: toolsOf("fs", {}),
      policy: {
        check: ({ tool: { name } }) =>
          name === "spawn_agent"
            ? allow({ sandbox: "host", capabilities: {} })
            : allow({ sandbox: "host", capabilities: { fs: [{ directory: root, write: true }] } }),
      },
      confirmations: { tools: Object.fromEntries(unasked.map((name) => [name, "auto" as const])) },
    },
  );
  onTestFinished(() => sessions.close());
  return { sessions, seen };
}

test.each([
  "review",
  "audit",
] as const)("in %s, the changes of agents wait in the session above them all, and outlive the agents", async (mode) => {
  const root = workspace();
  const { sessions, seen } = await writing(root, 2);
  const session = await sessions.open({ workspace: root, mode });
  expect(await run(session, "spawn_agent", { prompt: "Write." })).toMatchObject({ output: "done" });
  expect(seen).toEqual([
    expect.objectContaining({ content: "changed by agent-1.txt\n" }),
    session.changes,
    expect.objectContaining({ content: "changed by agent-2.txt\n" }),
    session.changes,
  ]);
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("A\n");
  const pending = await session.changes.pending();
  expect(pending.map(({ path, change }) => [path, change])).toEqual([
    ["a.txt", "modified"],
    ["agent-1.txt", "created"],
    ["agent-2.txt", "created"],
  ]);
  const { output } = await run(session, "read_file", { path: "agent-2.txt" });
  expect(output).toMatchObject({ content: "by an agent\n" });
  expect(await session.changes.acceptAll()).toMatchObject({ conflicts: [] });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("changed by agent-2.txt\n");
});

test("an agent of a session in a shadow works in the shadow", async () => {
  const root = workspace();
  const { sessions } = await writing(root, 1, ["spawn_agent", "write_file"]);
  const session = await sessions.open({ workspace: root, mode: "autonomous" });
  const shadow = await sessions.shadow(session, "task-1");
  expect(await run(shadow.session, "spawn_agent", { prompt: "Write." })).toMatchObject({ output: "done" });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("A\n");
  expect((await shadow.pending()).map(({ path }) => path)).toEqual(["a.txt", "agent-1.txt"]);
});

test("the session of an agent has no shadow of its own, in which it would have tools and quotas that it does not have", async () => {
  const root = workspace();
  let refused: unknown;
  const { sessions } = await agentSessions(
    async ({ session }) => {
      refused = await sessions.shadow(session, "task-2").catch((error: unknown) => error);
      return "done";
    },
    { worker: { model: "small", backend: { isPaid: true } } },
  );
  onTestFinished(() => sessions.close());
  const session = await sessions.open({ workspace: root, mode: "autonomous" });
  for (const name of ["spawn_agent", "delegate_task"]) {
    refused = undefined;
    expect(await run(session, name, { prompt: "Copy it." })).toMatchObject({ output: "done" });
    expect(refused).toBeInstanceOf(TypeError);
  }
  expect(readdirSync(root)).toEqual(["a.txt"]);
});
