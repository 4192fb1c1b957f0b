import { readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { EventStream } from "../../../src/engine/call/events.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { HostContext } from "../../../src/tool/implementations/implementations.ts";
import { workspaceIsSupported } from "../../../src/workspace/paths.ts";
import { contextFor, dispatchTool, hostTool } from "../../engine/helpers.ts";
import { GrantedTree } from "../../workspace/granted-tree.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
});

/** Runs a tool, with a listener that writes every line to a file, as a log does. */
async function run(
  tool: Tool,
): Promise<{ readonly execution: ToolExecution; readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const events = new EventStream();
  events.on((event) => {
    if (event.type !== "tool.log") return;
    lines.push(`${event.level}: ${event.message}`);
    writeFileSync(join(tree.base, "log"), lines.join("\n"));
  });
  const capabilities = tool.usesFiles ? { fs: [{ directory: tree.root, write: true }] } : {};
  const policy = { check: () => allow({ sandbox: "host", capabilities }) };
  const execution = await dispatchTool(await contextFor([tool], { policy, sandboxes, events }));
  return { execution, lines };
}

test("a host tool that opens files by itself works, and a warning names it and the file", async () => {
  const path = join(tree.root, "ok.txt");
  const { execution, lines } = await run(hostTool(() => readFileSync(path, "utf8"), { logFileAccess: true }));
  expect(execution).toMatchObject({ success: true, output: "OK" });
  expect(lines).toEqual([
    `warn: Tool 'tool' opens '${path}' with fs.readFileSync by itself, not by context.files`,
  ]);
});

test("files are seen however they are opened, once each, even after the tool has waited", async () => {
  const path = (name: string): string => join(tree.root, name);
  const { execution, lines } = await run(
    hostTool(
      async () => {
        await new Promise((resolve) => setImmediate(resolve));
        const required = createRequire(import.meta.url)("node:fs") as typeof import("node:fs");
        required.writeFileSync(path("new.txt"), "new");
        await required.promises.appendFile(Buffer.from(path("a/in.txt")), "!");
        await readFile(new URL(`file://${path("new.txt")}`));
        required.closeSync(required.openSync(path("ok.txt"), "r"));
        return await readFile(path("new.txt"), "utf8");
      },
      { logFileAccess: true },
    ),
  );
  expect(execution.output).toBe("new");
  expect(lines.map((line) => /'tool' opens '(.*)' with fs/.exec(line)?.[1])).toEqual([
    path("new.txt"),
    path("a/in.txt"),
    path("ok.txt"),
  ]);
});

test.skipIf(!workspaceIsSupported())("context.files and listeners are not the tool itself", async () => {
  const { execution, lines } = await run(
    hostTool(
      async (_: object, { files, logger }: HostContext) => {
        logger.info("begins");
        await files?.write("new.txt", "new");
        return await files?.read("new.txt");
      },
      { usesFiles: true, logFileAccess: true },
    ),
  );
  expect(execution.output).toBe("new");
  expect(lines).toEqual(["info: begins"]);
});

test("other tools, and other calls at the same time, are not logged", async () => {
  const path = join(tree.root, "ok.txt");
  const read = async (): Promise<string> => {
    await new Promise((resolve) => setImmediate(resolve));
    return readFileSync(path, "utf8");
  };
  const [logged, other] = await Promise.all([
    run(hostTool(async () => (await read()).length, { logFileAccess: true })),
    run(hostTool(read)),
  ]);
  expect([logged.lines.length, other.lines.length]).toEqual([1, 0]);
});

test("a tool that declares paths and not to use context.files is logged, unless it says otherwise", async () => {
  const path = join(tree.root, "ok.txt");
  const declared = {
    paths: [{ argument: "/path", access: "read" as const }],
    inputSchema: { type: "object", properties: { path: { type: "string" } } },
  };
  const logged = async (more: Partial<Tool>): Promise<number> =>
    (await run(hostTool(() => readFileSync(path, "utf8"), { ...declared, ...more }))).lines.length;
  expect(await logged({})).toBe(1);
  expect(await logged({ logFileAccess: false })).toBe(0);
  expect(await logged({ usesFiles: true })).toBe(0);
});

test("a tool that opens many files has the first ones named", async () => {
  const host = (): void => {
    for (let index = 0; index < 50; index++) writeFileSync(join(tree.root, `f${index}`), "");
  };
  const { lines } = await run(hostTool(host, { logFileAccess: true }));
  expect(lines).toHaveLength(21);
  expect(lines.at(-1)).toBe("warn: Tool 'tool' opens more files by itself, not by context.files");
});

test("a tool that fails to open a file fails as it would have", async () => {
  const host = (): string => readFileSync(join(tree.root, "missing"), "utf8");
  const { execution, lines } = await run(hostTool(host, { logFileAccess: true }));
  expect(execution.error?.message).toMatch(/^ENOENT/);
  expect(lines).toHaveLength(1);
});

test("a module is logged in its thread", async () => {
  const module = join(tree.base, "module.mjs");
  const path = join(tree.root, "ok.txt");
  writeFileSync(
    module,
    `import { readFileSync } from "node:fs";
    export default () => readFileSync(${JSON.stringify(path)}, "utf8");`,
  );
  const tool: Tool = {
    name: "tool",
    description: "",
    inputSchema: { type: "object" },
    logFileAccess: true,
    host: { module },
  };
  const { execution, lines } = await run(tool);
  expect(execution.output).toBe("OK");
  expect(lines).toEqual([
    `warn: Tool 'tool' opens '${path}' with fs.readFileSync by itself, not by context.files`,
  ]);
});
