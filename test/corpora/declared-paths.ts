import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { HostContext } from "../../src/tool/implementations/implementations.ts";
import type { WorkspaceFiles } from "../../src/tool/workspace-files.ts";

interface Tree {
  readonly id: string;
  readonly setup: readonly string[];
  readonly root: string;
  readonly op: string;
  readonly path: string;
  readonly expect: string;
}

const folder = `${process.env["SANDGATE_CORPORA"]}/paths`;
const lines = (file: string): readonly string[] =>
  readFileSync(`${folder}/${file}`, "utf8").trim().split("\n");
const trees = lines("path_trees.jsonl").map((line): Tree => JSON.parse(line));
const paths = lines("paths.jsonl").map((line): string => JSON.parse(line).path);

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());
const engine = new ToolDispatchEngine();

/** What a tool does with the path, with `context.files`. */
type Act = (files: WorkspaceFiles, path: string) => unknown;

let calls = 0;
/** Dispatches a call with a path, which is declared or not. */
async function dispatch(
  workspace: string,
  path: string,
  isDeclared: boolean,
  act: Act,
): Promise<ToolExecution> {
  const registry = new ToolRegistry().register({
    name: "tool",
    description: "",
    inputSchema: { type: "object" },
    usesFiles: true,
    ...(isDeclared && { paths: [{ argument: "/path", access: "write" as const }] }),
    host: ({ path: given }: { readonly path: string }, { files }: HostContext) => {
      calls++;
      return act(files as WorkspaceFiles, given);
    },
  });
  const fs = [{ directory: workspace, write: true }];
  const policy = { check: () => allow({ sandbox: "host" as const, capabilities: { fs } }) };
  const call = { id: "call", name: "tool", arguments: { path } };
  const ctx = { registry, policy, sandboxes, sessionId: "s", workspace };
  return (await engine.dispatch(call, ctx)) as ToolExecution;
}

let base: string;
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "sandgate-declared-"));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

function outside(root: string): readonly string[] {
  return readdirSync(base, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.startsWith(`${root}/`))
    .sort()
    .map((name) => {
      const stats = lstatSync(join(base, name));
      return `${name} ${stats.isFile() ? readFileSync(join(base, name), "utf8") : stats.mode}`;
    });
}

const ACTS: Record<string, Act> = {
  read: (files, path) => files.read(path),
  write: (files, path) => files.write(path, "WRITTEN"),
  stat: (files, path) => files.stat(path),
  list: (files, path) => files.list(path),
  mkdir: (files, path) => files.mkdir(path),
  delete: (files, path) => files.delete(path),
};

describe.each([
  ["declared and used through context.files", true],
  ["used through context.files", false],
] as const)("paths that are %s", (_how, isDeclared) => {
  // Other kinds of files, and races, are those of paths.ts.
  const plain = trees.filter(
    ({ op, setup }) => op in ACTS && setup.every((step) => /^(?:dir|file|symlink) /.test(step)),
  );

  test("do in every tree what they must", async () => {
    const wrong: string[] = [];
    for (const { id, setup, root, op, path, expect: end } of plain) {
      rmSync(base, { recursive: true });
      mkdirSync(base);
      for (const step of setup) build(step);
      const before = outside(root);
      const act = ACTS[op] as Act;
      const { success, output } = await dispatch(
        join(base, root),
        path.replace("/ABS", base),
        isDeclared,
        act,
      );
      const mustFail = end === "deny" || end === "error" || end === "error_fast";
      if ((mustFail && success) || (end === "ok" && !success)) wrong.push(`${id} ${op} ${path}: ${end}`);
      if (JSON.stringify(output).includes("CANARY")) wrong.push(`${id} read the canary`);
      if (outside(root).join() !== before.join()) wrong.push(`${id} changed something outside`);
    }
    expect(wrong).toEqual([]);
    console.log(`${plain.length} of ${trees.length} trees, 0 outside`);
  });

  test("as they are and decoded, reach nothing outside", { timeout: 300_000 }, async () => {
    rmSync(base, { recursive: true });
    for (const step of [
      "dir W/inner",
      "dir outside",
      "file outside/secret.txt CANARY",
      "file passwd CANARY",
    ]) {
      build(step);
    }
    const before = outside("W");
    calls = 0;
    let escapes = 0;
    let done = 0;
    const all = new Set([...paths, ...paths.map(decoded)]);
    for (const path of all) {
      for (const act of Object.values(ACTS)) {
        const { success, output, error } = await dispatch(join(base, "W/inner"), path, isDeclared, act);
        if (success) done++;
        if (error?.message === "Path escapes workspace boundary") escapes++;
        expect(JSON.stringify(output)).not.toContain("CANARY");
      }
    }
    expect(outside("W")).toEqual(before);
    console.log(
      `${all.size} paths, ${all.size * 6} calls: ${calls} ran, ${done} succeeded, ${escapes} escapes, 0 outside`,
    );
  });
});

function build(step: string): void {
  const [kind, name = "", ...rest] = step.split(" ");
  const path = join(base, name);
  const text = rest.join(" ");
  if (kind === "dir") mkdirSync(path, { recursive: true });
  else if (kind === "symlink") symlinkSync(text.replace("/ABS", base), path);
  else writeFileSync(path, text === "1GiB-sparse" ? "" : text);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
