import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { SandboxOutcome } from "../../../src/sandboxes/contract/outcome.ts";
import { WasmSandbox } from "../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { wasmTask } from "../../fixtures/wasm/task.ts";
import { type WatVariation, watComponent } from "../../fixtures/wasm/wat-component.ts";

const root = mkdtempSync(join(tmpdir(), "sandgate-deadline-"));
const sandbox = new WasmSandbox({ cacheDirectory: root, workers: { threads: 1 } });
afterAll(async () => {
  await sandbox.close();
  rmSync(root, { recursive: true, force: true });
});

const WALL_TIME_MS = 300;

/** Calls a component several times, since V8 optimises its code meanwhile. */
async function outcomes(variation: WatVariation, times = 3): Promise<readonly SandboxOutcome[]> {
  const component = await watComponent(variation);
  const ended: SandboxOutcome[] = [];
  const limits = { wallTimeMs: WALL_TIME_MS };
  while (ended.length < times) ended.push(await sandbox.run(wasmTask(component, "any", null, { limits })));
  return ended;
}

const FOREVER = "(loop (br 0)) unreachable";

/** Slow instructions in a row: they take about half a millisecond. */
const ROOTS = "(global.set $x (f64.sqrt (f64.div (global.get $x) (f64.const 3.3))))".repeat(20_000);

describe("a Wasm call ends at its deadline", () => {
  test.each<[string, WatVariation]>([
    ["a loop runs", { call: FOREVER }],
    [
      "a loop calls a long function without calls, which V8 optimises",
      {
        fields: `(global $x (mut f64) (f64.const 1.5)) (func $long ${ROOTS})`,
        call: "(loop (call $long) (br 0)) unreachable",
      },
    ],
  ])("although %s", async (_what, variation) => {
    for (const outcome of await outcomes(variation)) {
      expect(outcome).toMatchObject({ status: "timeout", effect: "none" });
      expect(outcome).not.toHaveProperty("mayStillRun");
    }
  });
});

describe("making an instance counts as part of the call", () => {
  test.each<[string, WatVariation]>([
    ["its start function does not return", { fields: `(func $start ${FOREVER}) (start $start)` }],
    [
      "its start function calls one that does not return",
      { fields: `(func $start (call $loops)) (func $loops ${FOREVER}) (start $start)` },
    ],
  ])("so that it ends at the deadline if %s", async (_what, variation) => {
    for (const outcome of await outcomes(variation, 2)) {
      expect(outcome).toMatchObject({ status: "timeout", effect: "none" });
      expect(outcome).not.toHaveProperty("mayStillRun");
      expect(outcome.used.wallTimeMs).toBeGreaterThanOrEqual(WALL_TIME_MS);
    }
  });

  test("so that the time of a start function is reported", async () => {
    const rounds = 20_000_000;
    const start = `(func $start (local i32) (loop
      (br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const ${rounds}))))) (start $start)`;
    const outcome = await sandbox.run(wasmTask(await watComponent({ fields: start }), "any"));
    expect(outcome).toMatchObject({ status: "completed" });
    expect(outcome.used.wallTimeMs).toBeGreaterThan(1);
  });
});
