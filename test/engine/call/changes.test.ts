import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { EndedRecord } from "../../../src/engine/call/journal.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { allow, type RuntimePolicy } from "../../../src/policy/policy.ts";
import { Redaction } from "../../../src/redaction/redaction.ts";
import type { HostContext } from "../../../src/tool/implementations/implementations.ts";
import type { WorkspaceFiles } from "../../../src/tool/workspace-files.ts";
import { workspaceIsSupported } from "../../../src/workspace/paths.ts";
import { GrantedTree } from "../../workspace/granted-tree.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "../helpers.ts";

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
});

const writing = (act: (files: WorkspaceFiles) => unknown): Tool =>
  hostTool((_: object, { files }: HostContext) => act(files as WorkspaceFiles), { usesFiles: true });

async function run(tool: Tool, more: Partial<DispatchContext> = {}, write = true): Promise<ToolExecution> {
  const capabilities = { fs: [{ directory: tree.root, write }] };
  const policy = { check: () => allow({ sandbox: "host", capabilities }) };
  return dispatchTool(await contextFor([tool], { policy, ...more }));
}

const EXPECTED = {
  files: [
    { path: "a/in.txt", change: "deleted", bytes: 0 },
    { path: "new.txt", change: "created", bytes: 3 },
    { path: "ok.txt", change: "modified", bytes: 7 },
  ],
};

const change = async (files: WorkspaceFiles): Promise<void> => {
  await files.write("new.txt", "new");
  await files.patch("ok.txt", "OK", "patched");
  await files.delete("a/in.txt");
};

describe.skipIf(!workspaceIsSupported())("The changes in an execution", () => {
  test("are those of context.files, also in events and in the record of the end, and frozen", async () => {
    const { events, seen } = recordEvents();
    const ended: EndedRecord[] = [];
    const journal = {
      begin: () => undefined,
      end: (record: EndedRecord) => ended.push(record),
      deny: () => {},
    };
    const { changes } = await run(writing(change), { events, journal });
    expect(changes).toEqual(EXPECTED);
    expect(Object.isFrozen(changes?.files[0])).toBe(true);
    expect(seen.at(-1)).toMatchObject({ type: "tool.completed", execution: { changes: EXPECTED } });
    expect(ended).toMatchObject([{ changes: EXPECTED }]);
  });

  test("are there if the tool fails after it has changed something", async () => {
    const tool = writing(async (files) => {
      await change(files);
      throw new Error("too late");
    });
    expect(await run(tool)).toMatchObject({ success: false, changes: EXPECTED });
  });

  test("are absent for a call that may change nothing, and empty for one that did not", async () => {
    expect(
      await run(
        writing((files) => files.read("ok.txt")),
        {},
        false,
      ),
    ).not.toHaveProperty("changes");
    expect((await run(writing((files) => files.read("ok.txt")))).changes).toEqual({ files: [] });
    expect(await dispatchTool(await contextFor([hostTool(() => 1)]))).not.toHaveProperty("changes");
  });

  test("are not what the tool says", async () => {
    const lie = { files: [{ path: "other.txt", change: "created", bytes: 1 }] };
    const execution = await run(writing(() => ({ changes: lie })));
    expect(execution.changes).toEqual({ files: [] });
  });

  test("of a guest are followed over the steps of its call", async () => {
    const tool: Tool = {
      name: "tool",
      description: "",
      inputSchema: { type: "object" },
      quickjs: {
        source: `export default async (_, { fs, tools }) => {
          fs.writeFile("/new.txt", "1");
          await tools.call("other", {});
          fs.writeFile("/new.txt", "new");
          fs.writeFile("/ok.txt", "patched");
          fs.writeFile("/gone.txt", "x");
          fs.rm("/gone.txt");
          fs.rm("/a/in.txt");
        }`,
      },
    };
    const other = { ...hostTool(() => 1), name: "other" };
    const registry = new ToolRegistry().register(tool).register(other);
    const policy: RuntimePolicy = {
      check: ({ tool: { sandboxes } }) => {
        const [sandbox = "host"] = sandboxes;
        if (sandbox === "host") return allow({ sandbox });
        const fs = [{ directory: tree.root, write: true }];
        return allow({ sandbox, capabilities: { fs, tools: ["other"] } });
      },
    };
    const { changes, error } = await dispatchTool(await contextFor([], { registry, policy }));
    expect(error).toBeUndefined();
    expect(changes).toEqual(EXPECTED);
  });

  test("have no secrets in their paths for observers", async () => {
    const { events, seen } = recordEvents();
    const redaction = new Redaction({});
    const name = `ghp_${"a1B2".repeat(9)}.txt`;
    const { changes } = await run(
      writing((files) => files.write(name, "x")),
      { events, redaction },
    );
    expect(changes?.files[0]?.path).toBe(name);
    expect(JSON.stringify(seen.at(-1))).not.toContain(name);
  });
});
