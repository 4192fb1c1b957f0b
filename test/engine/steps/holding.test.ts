import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { allow } from "../../../src/policy/policy.ts";
import type { GrantedFiles, StageChanges } from "../../../src/sandboxes/contract/staged-changes.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { toChanges } from "../../../src/tool/changes.ts";
import type { HostContext } from "../../../src/tool/implementations/implementations.ts";
import type { WorkspaceFiles } from "../../../src/tool/workspace-files.ts";
import { GrantedTree } from "../../workspace/granted-tree.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

let tree: GrantedTree;
/** What is held, by path. */
let held: Map<string, string>;
let ends: number;
let granted: GrantedFiles | undefined;
beforeEach(() => {
  tree = new GrantedTree();
  [held, ends, granted] = [new Map(), 0, undefined];
  onTestFinished(() => tree[Symbol.dispose]());
});

/** Keeps texts that are written in memory, and reads the others from the disk. */
const inMemory: StageChanges = (given) => {
  granted = given;
  const files: Pick<WorkspaceFiles, "read" | "write"> = {
    read: async (path) => held.get(path) ?? given.files.read(path),
    write: async (path, text) => void held.set(path, text),
  };
  return {
    files: files as WorkspaceFiles,
    get writtenBytes() {
      return [...held.values()].join("").length;
    },
    get changes() {
      return toChanges([...held].map(([path, { length }]) => ({ path, change: "created", bytes: length })));
    },
    end: () => void ends++,
  };
};

const host = async (_: object, { files }: HostContext): Promise<string | undefined> => {
  await files?.write("a.txt", "new");
  return files?.read("a.txt");
};
const writer = (more: Partial<Tool> = {}): Tool =>
  hostTool(host, { sideEffects: "write", usesFiles: "staged", ...more });

async function dispatch(tool: Tool, stageChanges: DispatchContext["stageChanges"]): Promise<ToolExecution> {
  const policy = {
    check: () => allow({ sandbox: "host", capabilities: { fs: [{ directory: tree.root, write: true }] } }),
  };
  return dispatchTool(await contextFor([tool], { policy, sandboxes, ...(stageChanges && { stageChanges }) }));
}

const onDisk = (): boolean => existsSync(join(tree.root, "a.txt"));

describe("a call whose changes are held", () => {
  test("gets its files from the context, and leaves the disk as it was", async () => {
    const execution = await dispatch(writer(), () => ({ open: inMemory, isRequired: true }));
    expect(execution).toMatchObject({ success: true, output: "new" });
    expect(execution.changes?.files).toEqual([{ path: "a.txt", change: "created", bytes: 3 }]);
    expect(execution.receipt.used).toMatchObject({ fileBytes: 3 });
    expect(onDisk()).toBe(false);
    expect(ends).toBe(1);
    expect(granted).toMatchObject({ grants: [{ directory: tree.root, write: true }] });
  });

  test("reads what is on the disk, and no more after it has ended", async () => {
    writeFileSync(join(tree.root, "b.txt"), "old");
    const reader = hostTool((_, { files }) => files?.read("b.txt"), { sideEffects: "read", usesFiles: true });
    const execution = await dispatch(reader, () => ({ open: inMemory, isRequired: false }));
    expect(execution.output).toBe("old");
    await expect(granted?.files.read("b.txt")).rejects.toThrow("the call has ended");
  });

  test("does not run if its changes have to be staged, and cannot be", async () => {
    for (const [tool, open] of [
      [writer(), undefined],
      [writer({ usesFiles: true }), inMemory],
      [writer({ usesFiles: false }), inMemory],
    ] as const) {
      const execution = await dispatch(tool, () => ({ open, isRequired: true }));
      expect(execution.success).toBe(false);
      expect(execution.error?.effect).toBe("none");
      expect(onDisk()).toBe(false);
      expect(held.size).toBe(0);
    }
  });

  test("does not run if what holds its changes cannot be opened", async () => {
    const open = (): never => {
      throw new Error("the disk is full");
    };
    const execution = await dispatch(writer(), () => ({ open, isRequired: true }));
    expect(execution.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(onDisk()).toBe(false);
  });
});

test("the changes of a call reach the disk unless the context holds them", async () => {
  await dispatch(writer(), () => undefined);
  expect(readFileSync(join(tree.root, "a.txt"), "utf8")).toBe("new");
});

test("stageChanges is asked about each call by its id", async () => {
  const asked: string[] = [];
  await dispatch(writer(), (callId) => {
    asked.push(callId);
    return undefined;
  });
  expect(asked).toEqual(["call"]);
});
