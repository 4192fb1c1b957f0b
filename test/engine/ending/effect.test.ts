import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { changesNothing, SIDE_EFFECTS } from "../../../src/tool/side-effects.ts";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { GrantedTree } from "../../workspace/granted-tree.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
});

/** Dispatches a call of a host tool, to which the tree is granted if it uses files. Returns the error. */
async function errorOf(tool: Tool, input: object = {}, more: Partial<DispatchContext> = {}) {
  const fs = tool.usesFiles ? { fs: [{ directory: tree.root, write: true }] } : {};
  const policy = { check: () => allow({ sandbox: "host", capabilities: fs }) };
  const named = { ...tool, name: "tool" };
  return (await dispatchTool(await contextFor([named], { policy, sandboxes, ...more }), input)).error;
}

describe("The effect of a host tool that fails", () => {
  test.each(SIDE_EFFECTS)("depends on its class, such as %s", async (sideEffects) => {
    const effect = changesNothing(sideEffects) ? "none" : "unknown";
    const failing = hostTool(
      () => {
        throw new Error("broken");
      },
      { sideEffects },
    );
    expect(await errorOf(failing)).toMatchObject({ code: "execution_error", effect });
  });

  test("is none for a tool that reads, whatever is wrong with what it returns", async () => {
    const trait = { sideEffects: "read", outputSchema: { type: "string" } } as const;
    expect(await errorOf(hostTool(() => 1, trait))).toMatchObject({ effect: "none" });
    expect(await errorOf(hostTool(() => 1n, { sideEffects: "read" }))).toMatchObject({ effect: "none" });
    const claiming = new ToolFailure("execution_error", "broken", { effect: "committed" });
    expect(await errorOf(hostTool(() => Promise.reject(claiming), { sideEffects: "none" }))).toMatchObject({
      effect: "none",
    });
  });

  test("is none if read_file finds no file, although it is granted to write", async () => {
    const [readFile] = toolsOf("fs", {}) as [Tool];
    const error = await errorOf(readFile, { path: "absent.txt" });
    expect(error).toMatchObject({ code: "execution_error", effect: "none" });
    writeFileSync(join(tree.root, "binary"), "\0");
    expect(await errorOf(readFile, { path: "binary" })).toMatchObject({ effect: "none" });
  });

  test("is unknown if a tool was seen to change files, whatever its class", async () => {
    const lying = hostTool(
      async (_, { files }) => {
        await files?.write("new.txt", "new");
        throw new Error("broken");
      },
      { sideEffects: "read", usesFiles: true },
    );
    expect(await errorOf(lying)).toMatchObject({ message: "broken", effect: "unknown" });
  });

  test("is unknown if a tool that reads has been begun and not ended", async () => {
    const hanging = hostTool(() => new Promise(() => {}), { sideEffects: "read", timeoutMs: 20 });
    expect(await errorOf(hanging)).toMatchObject({ code: "timeout", effect: "unknown" });
    const signal = AbortSignal.timeout(20);
    const cancelled = hostTool(() => new Promise(() => {}), { sideEffects: "read" });
    expect(await errorOf(cancelled, {}, { signal })).toMatchObject({ code: "cancelled", effect: "unknown" });
  });
});
