import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { defineTool } from "../../../src/engine/tool.ts";
import { allow, type RuntimePolicy } from "../../../src/policy/policy.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { call, testSessions } from "../harness.ts";

/** Without namespaces, a program that may write in a workspace with a repository is refused. */
const needsNamespaces = test.skipIf(unavailable !== undefined);

/** A program that changes files where it runs, as the shell does. */
const shell = defineTool({
  name: "run_command",
  description: "Runs a command.",
  inputSchema: { type: "object", properties: { command: { type: "string" } } },
  sideEffects: "execute",
  process: {
    command: "sh",
    args: ["-c", { argument: "/command" }],
    input: "none",
    output: "completion",
  },
});

const UNASKED = { confirmations: { tools: { write_file: "auto" } } } as const;

function workspace(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-shadow-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, "a.txt"), "A\n");
  mkdirSync(join(root, "d"));
  writeFileSync(join(root, "d/b.txt"), "B\n");
  mkdirSync(join(root, ".git"));
  writeFileSync(join(root, ".git/config"), "[core]\n\tfsmonitor = touch /tmp/never\n");
  return root;
}

/** Grants the workspace by its path, as a policy file does. */
const granting = (root: string): RuntimePolicy => ({
  check: ({ tool: { name } }) =>
    allow({
      sandbox: name === "run_command" ? "process" : "host",
      capabilities: { fs: [{ directory: root, write: true }] },
    }),
});

async function run(session: Session, name: string, args: object): Promise<unknown> {
  const result = await session.turn().dispatch(call(`c-${Math.random()}`, name, args as never));
  if (result?.error) throw new Error(result.error.message);
  return result?.output;
}

async function shadowOf(root: string, mode: "autonomous" | "review" = "autonomous") {
  const { sessions } = await testSessions([...toolsOf("fs", {}), shell], {
    policy: granting(root),
    ...UNASKED,
  });
  onTestFinished(() => sessions.close());
  const session = await sessions.open({ workspace: root, mode });
  return { session, shadow: await sessions.shadow(session, "task-1", { mode: "autonomous" }) };
}

needsNamespaces(
  "nothing that an agent changes in a shadow reaches the workspace before it is merged",
  async () => {
    const root = workspace();
    const { shadow } = await shadowOf(root);
    expect(shadow.directory).toBe(join(root, ".sandgate/shadows/task-1"));
    expect(shadow.session.workspace).toBe(shadow.directory);
    await run(shadow.session, "write_file", { path: "a.txt", content: "changed\n" });
    await run(shadow.session, "run_command", { command: "mkdir n && echo made > n/c.txt && rm -r d" });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("A\n");
    expect(existsSync(join(root, "n"))).toBe(false);
    expect((await shadow.pending()).map(({ path, change }) => [path, change])).toEqual([
      ["a.txt", "modified"],
      ["d/", "deleted"],
      ["d/b.txt", "deleted"],
      ["n/", "created"],
      ["n/c.txt", "created"],
    ]);
    expect(await shadow.merge()).toEqual({
      accepted: ["a.txt", "d", "d/b.txt", "n", "n/c.txt"],
      conflicts: [],
    });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("changed\n");
    expect(readFileSync(join(root, "n/c.txt"), "utf8")).toBe("made\n");
    expect(existsSync(join(root, "d"))).toBe(false);
    expect(await shadow.pending()).toEqual([]);
    await shadow.discard();
    expect(existsSync(shadow.directory)).toBe(false);
  },
);

test("merges nothing if a file has changed in the workspace, or if a shadow has a new link", async () => {
  const root = workspace();
  const { shadow } = await shadowOf(root);
  await run(shadow.session, "write_file", { path: "a.txt", content: "in the shadow\n" });
  await run(shadow.session, "write_file", { path: "new.txt", content: "N" });
  writeFileSync(join(root, "a.txt"), "in the workspace\n");
  symlinkSync("/etc/passwd", join(shadow.directory, "link"));
  expect(await shadow.merge()).toEqual({
    accepted: [],
    conflicts: [
      { path: "link", reason: "unsupported" },
      { path: "a.txt", reason: "changed" },
    ],
  });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("in the workspace\n");
  expect(existsSync(join(root, "new.txt"))).toBe(false);
});

test("has nothing that git runs, and what it puts in protected places is not merged", async () => {
  const root = workspace();
  const { shadow } = await shadowOf(root);
  expect(readFileSync(join(shadow.directory, ".git/config"), "utf8")).not.toContain("fsmonitor");
  mkdirSync(join(shadow.directory, ".git/hooks"));
  writeFileSync(join(shadow.directory, ".git/hooks/pre-commit"), "#!/bin/sh\nevil\n");
  mkdirSync(join(shadow.directory, ".ssh"));
  writeFileSync(join(shadow.directory, ".ssh/config"), "ProxyCommand evil");
  expect((await shadow.merge()).conflicts).toEqual([
    { path: ".ssh", reason: "protected" },
    { path: ".ssh/config", reason: "protected" },
  ]);
});

needsNamespaces("merged into a session in review, its changes wait there", async () => {
  const root = workspace();
  const { session, shadow } = await shadowOf(root, "review");
  await run(shadow.session, "run_command", { command: "echo by the shell > a.txt" });
  expect(await shadow.merge()).toEqual({ accepted: ["a.txt"], conflicts: [] });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("A\n");
  expect(await session.changes.pending()).toMatchObject([{ path: "a.txt", change: "modified" }]);
  expect(await session.changes.acceptAll()).toEqual({ accepted: ["a.txt"], conflicts: [] });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("by the shell\n");
});

test("a grant above the workspace can only be read in a shadow", async () => {
  const root = workspace();
  const above = join(root, "..");
  const policy: RuntimePolicy = {
    check: () => allow({ sandbox: "host", capabilities: { fs: [{ directory: above, write: true }] } }),
  };
  const { sessions } = await testSessions(toolsOf("fs", {}), { policy, ...UNASKED });
  const session = await sessions.open({ workspace: root, mode: "autonomous" });
  const shadow = await sessions.shadow(session, "task-1");
  const path = join(root, "a.txt");
  await expect(run(shadow.session, "write_file", { path, content: "x" })).rejects.toThrow();
  expect(readFileSync(path, "utf8")).toBe("A\n");
  await sessions.close();
});
