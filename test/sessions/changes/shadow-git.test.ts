import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ShadowTree } from "../../../src/changes/shadow.ts";
import { allow } from "../../../src/policy/policy.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { gitTools } from "../../../src/toolsets/git-tools.ts";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { call, testSessions } from "../harness.ts";

/** Without namespaces, a program that may write in a workspace with a repository is refused. */
const needsNamespaces = test.skipIf(unavailable !== undefined);

function repository() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-shadow-git-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const root = join(base, "root");
  mkdirSync(root);
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" });
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");
  writeFileSync(join(root, "a.txt"), "A\n");
  git("add", "a.txt");
  git("commit", "--quiet", "--message=First");
  // What git would run, or be led elsewhere by.
  const ran = join(base, "ran");
  git("config", "core.fsmonitor", `touch ${ran}`);
  git("config", "alias.x", "!true");
  git("config", "remote.origin.url", "https://example.org/x.git");
  mkdirSync(join(root, ".git/hooks"), { recursive: true });
  writeFileSync(join(root, ".git/hooks/pre-commit"), `#!/bin/sh\ntouch ${ran}\n`);
  chmodSync(join(root, ".git/hooks/pre-commit"), 0o755);
  return { base, root, git, ran };
}

/** All files of a directory with their texts. */
function filesIn(directory: string): Readonly<Record<string, string>> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const paths = entries.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
  return Object.fromEntries(paths.sort().map((path) => [path, readFileSync(path, "latin1")]));
}

async function run(session: Session, name: string, args: object = {}): Promise<string> {
  const result = await session.turn().dispatch(call(`c-${Math.random()}`, name, args as never));
  if (result?.error) throw new Error(result.error.message);
  return String(result?.output);
}

needsNamespaces("git works in a shadow, and changes nothing of the repository", async () => {
  const { root, git, ran } = repository();
  const { sessions } = await testSessions([...toolsOf("fs", {}), ...gitTools({})], {
    policy: {
      check: ({ tool: { name } }) =>
        allow({
          sandbox: name.startsWith("git_") ? "process" : "host",
          capabilities: { fs: [{ directory: root, write: true }] },
        }),
    },
    confirmations: {
      tools: { write_file: "auto", git_commit: "auto", git_stage: "auto", git_branch: "auto" },
    },
  });
  onTestFinished(() => sessions.close());
  const session = await sessions.open({ workspace: root, mode: "autonomous" });
  const before = filesIn(join(root, ".git"));
  const shadow = await sessions.shadow(session, "task-1", { mode: "autonomous" });
  expect(await run(shadow.session, "git_status")).toMatch(/^## main\nThere are no changes/);
  await run(shadow.session, "write_file", { path: "a.txt", content: "changed\n" });
  expect(await run(shadow.session, "git_status")).toContain(" M a.txt");
  await run(shadow.session, "git_commit", { message: "Second", all: true });
  const log = await run(shadow.session, "git_log");
  expect(log).toContain("Second");
  expect(log).toContain("First");
  expect(log).toContain("Ada <ada@example.org>");
  expect(filesIn(join(root, ".git"))).toEqual(before);
  expect(existsSync(ran)).toBe(false);
  // Files are merged, and history is not.
  expect(await shadow.merge()).toEqual({ accepted: ["a.txt"], conflicts: [] });
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("changed\n");
  expect(filesIn(join(root, ".git"))).toEqual(before);
  expect(git("-c", "core.fsmonitor=false", "log", "--format=%s")).toBe("First\n");
  await shadow.discard();
});

test("the repository of a shadow has no hooks, remotes and programs, and shares no file", async () => {
  const { root } = repository();
  const shadow = await ShadowTree.open(root, "task");
  const config = readFileSync(join(shadow.directory, ".git/config"), "utf8");
  expect(config).not.toMatch(/fsmonitor|alias|remote/);
  expect(existsSync(join(shadow.directory, ".git/hooks"))).toBe(false);
  const files = Object.keys(filesIn(join(shadow.directory, ".git")));
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) expect(statSync(file).nlink).toBe(1);
});

test("links in a repository are not followed", async () => {
  const { base, root } = repository();
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/secret"), "secret");
  symlinkSync(join(base, "outside/secret"), join(root, ".git/refs/heads/link"));
  symlinkSync(join(base, "outside"), join(root, ".git/objects/ff"));
  const { directory } = await ShadowTree.open(root, "task");
  expect(existsSync(join(directory, ".git/HEAD"))).toBe(true);
  expect(Object.values(filesIn(join(directory, ".git"))).join()).not.toContain("secret");
});

test.each([
  ["is a link", (root: string, base: string) => symlinkSync(join(base, "elsewhere"), join(root, ".git"))],
  ["is elsewhere", (root: string) => writeFileSync(join(root, ".git"), "gitdir: ../elsewhere\n")],
])("there is none if that of the workspace %s", async (_, act) => {
  const { base, root } = repository();
  execFileSync("mv", [join(root, ".git"), join(base, "elsewhere")]);
  act(root, base);
  const { directory } = await ShadowTree.open(root, "task");
  expect(existsSync(join(directory, ".git"))).toBe(false);
  expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("A\n");
});

test("there is none if the workspace's has objects elsewhere", async () => {
  const { root } = repository();
  writeFileSync(join(root, ".git/objects/info/alternates"), "/elsewhere\n");
  const { directory } = await ShadowTree.open(root, "task");
  expect(existsSync(join(directory, ".git"))).toBe(false);
});
