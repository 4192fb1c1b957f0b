import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { WasmSandbox } from "../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { wasmTask } from "../../../fixtures/wasm/task.ts";
import { watComponent } from "../../../fixtures/wasm/wat-component.ts";

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-trap-"));
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheDirectory, { recursive: true });
});

describe("the operator reads in which functions a component trapped, in both engines, and the model does not", () => {
  test.each([
    ["an instruction", "unreachable", "Tool trapped: unreachable", []],
    [
      "a bulk instruction that a helper runs",
      "(memory.fill (i32.const 0) (i32.const 0) (local.get 0))",
      "Tool trapped: memory access out of bounds",
      ["memory.fill"],
    ],
  ])("%s", async (_what, work, message, helpers) => {
    const fields = `(func $parse_row (param i32) ${work}) (func $parse_table (call $parse_row (i32.const 0x7fffffff)))`;
    const component = await watComponent({ fields, call: "call $parse_table i32.const 16" });
    const trusted = {
      implementations: { wasm: { component, tool: "any", engine: "jco" } },
      capabilities: { engine: "jco" },
    } as const;
    for (const task of [wasmTask(component, "any"), wasmTask(component, "any", {}, trusted)]) {
      const outcome = await sandbox.run(task);
      expect(outcome).toMatchObject({ status: "failed", message });
      const detail = String((outcome as { detail?: unknown }).detail);
      const named = [...helpers, "parse_row", "parse_table"];
      const places = named.map((name) => detail.indexOf(name));
      expect(places).not.toContain(-1);
      expect(places).toEqual(places.toSorted((one, other) => one - other));
      for (const name of named)
        expect((outcome as { message: string }).message.replace(message, "")).not.toContain(name);
    }
  });
});
