import { existsSync, realpathSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { guardedFiles } from "../../../src/base/guarded-files.ts";
// Inside: writes many paths with the tools of one config; a command would load the config for each.
import { loadConfig } from "../../../src/cli/config/load-config.ts";
import { openSandboxes, ToolDispatchEngine, type ToolExecution } from "../../../src/entry/index.ts";
import { createFolder } from "../sandgate.ts";

/** Tools that run files by relative paths, and tools that write them. */
const CONFIG = `
tools:
  - name: build
    description: Builds the project
    inputSchema: { type: object }
    process: { command: sh, args: [scripts/build.sh], cwd: ., output: text }
  - name: lint
    description: Checks the project
    inputSchema: { type: object }
    process: { command: sh, args: [-c, "cd . && node --require=./tools/hook.cjs ./tools/lint.mjs"], output: text }
  - name: probe
    description: Runs with a variable that names a file
    inputSchema: { type: object }
    process: { command: bash, args: [-c, "true"], env: { BASH_ENV: ./env.sh }, output: text }
toolsets: [fs]
policy:
  rules:
    - tools: [build, lint, probe]
      effect: allow
      sandboxes: [process]
      capabilities: { fs: [{ workspace: true }] }
    - tools: [build]
      effect: allow
      sandboxes: [process]
      capabilities: { fs: [{ workspace: sub }] }
    - tools: [write_file]
      effect: allow
      sandboxes: [host]
      capabilities: { fs: [{ workspace: true, write: true }] }
`;

const DENIES = { check: () => ({ decision: "deny", reason: "there is no policy" }) as const };

const FILES = {
  "scripts/build.sh": "echo built\n",
  "tools/lint.mjs": 'import "./rules.mjs";\n',
  "tools/rules.mjs": "",
  "env.sh": "true\n",
  "src/main.js": "",
};

describe("A program that a tool runs by a path in the workspace", () => {
  async function writeIn(workspace: string): Promise<(path: string) => Promise<ToolExecution | null>> {
    const folder = await createFolder({ "sandgate.yaml": CONFIG });
    const { problems, registry, policy = DENIES } = await loadConfig(join(folder, "sandgate.yaml"));
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
    const sandboxes = await openSandboxes();
    onTestFinished(() => sandboxes.close());
    const context = { registry, policy, sandboxes, sessionId: "s", workspace };
    return (path) =>
      new ToolDispatchEngine().dispatch(
        { id: path, name: "write_file", arguments: { path, content: "evil" } },
        context,
      );
  }

  test("can be written by no tool with a grant for the workspace, nor created", async () => {
    const workspace = realpathSync(await createFolder(FILES));
    await mkdir(join(workspace, "sub"));
    await symlink("../scripts", join(workspace, "sub", "linked"));
    const write = await writeIn(workspace);
    const programs = [
      "scripts/build.sh",
      "sub/linked/build.sh",
      "sub/scripts/build.sh",
      "tools/lint.mjs",
      "tools/rules.mjs",
      "tools/hook.cjs",
      "env.sh",
    ];
    for (const path of programs) {
      const written = await write(path);
      expect(written?.error?.code, path).toBe("permission_denied");
    }
    expect(existsSync(join(workspace, "tools/hook.cjs"))).toBe(false);
    expect(await readFile(join(workspace, "tools/rules.mjs"), "utf8")).toBe("");
    for (const path of ["src/main.js", "scripts/other.sh", "build.sh"])
      expect((await write(path))?.error, path).toBeUndefined();
  });

  test("is guarded in each workspace, however its path is written", async () => {
    for (const end of ["", "/.", "/src/.."]) {
      const workspace = realpathSync(await createFolder(FILES));
      const write = await writeIn(`${workspace}${end}`);
      expect((await write("scripts/build.sh"))?.error?.code, end).toBe("permission_denied");
      expect((await write("src/main.js"))?.error, end).toBeUndefined();
    }
  });
});

test("The bubblewrap of a config can be written by no tool", async () => {
  const folder = realpathSync(await createFolder({ bwrap: "", "sandgate.yaml": CONFIG }));
  const bubblewrap = join(folder, "bwrap");
  await writeFile(
    join(folder, "sandgate.yaml"),
    `${CONFIG}sandboxes: { process: { bubblewrap: ${bubblewrap} } }\n`,
  );
  await loadConfig(join(folder, "sandgate.yaml"));
  expect(guardedFiles()).toContainEqual({ path: bubblewrap, access: "read" });
});
