/** The process in which random components run, one after another: the parent sends the seeds. */
import { entryFile } from "../../../src/base/package-files.ts";
import { ToolPreparationError } from "../../../src/sandboxes/contract/sandbox.ts";
import { WorkerPool } from "../../../src/sandboxes/threads/worker-pool.ts";
import { Component } from "../../../src/sandboxes/wasm/component/component.ts";
import { readComponent } from "../../../src/sandboxes/wasm/linking/component-reader.ts";
import { runWasmCall } from "../../../src/sandboxes/wasm/wasm-call.ts";
import { findExport } from "../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { wasmTask } from "../../fixtures/wasm/task.ts";
import { watComponent } from "../../fixtures/wasm/wat-component.ts";
import { coreModule, FUNCTIONS } from "./core-module.ts";
import { findOpcodes } from "./opcodes.ts";
import { Random } from "./random.ts";
import { RandomBody } from "./random-body.ts";
import { type FuzzReport, WALL_TIME_MS } from "./report.ts";
import { withCore } from "./with-core.ts";

const CAP_BYTES = 32 * 2 ** 20;
const SIZES = { pages: 256, elements: 20_000, segmentElements: 20_000, segmentBytes: 2 * 2 ** 20 };

const opcodes = findOpcodes();
const template = await watComponent();
const pool = new WorkerPool({ entry: entryFile("sandboxes/wasm/thread/worker-entry") }, { threads: 1 });

process.on("message", (seed: number) => {
  runRandom(seed).then(
    (report) => process.send?.(report),
    (error: unknown) => process.send?.({ problem: String(error) }),
  );
});
process.on("disconnect", () => void pool.close());

/** Runs a component without jco's validation, which takes longer than everything else. */
async function runRandom(seed: number): Promise<FuzzReport> {
  const random = new Random(seed);
  const bodies = new RandomBody(random, opcodes);
  const core = coreModule(
    Array.from({ length: FUNCTIONS }, () => bodies.next()),
    SIZES,
    random.chance(0.5),
  );
  if (!WebAssembly.validate(core as BufferSource)) throw new Error("the module is not valid");
  const wasm = { component: withCore(template, core) };
  const component = new Component(`fuzz-${seed}`, await readComponent(wasm.component));
  const name = findExport(component.exports, wasm);
  try {
    const capped = await component.withCap(CAP_BYTES);
    const task = wasmTask(wasm.component, "fuzz", null, {
      limits: { wallTimeMs: WALL_TIME_MS, memoryBytes: CAP_BYTES },
    });
    const outcome = await runWasmCall(
      pool,
      { ...capped, export: name, memoryBytes: CAP_BYTES, id: capped.key },
      task,
      {
        keyValue: undefined,
        openEgress: undefined,
      },
    );
    pool.forget(capped.key);
    const lateMs = outcome.used.wallTimeMs - WALL_TIME_MS;
    return { status: outcome.status, lateMs, mayStillRun: outcome.mayStillRun === true };
  } catch (error) {
    if (!(error instanceof ToolPreparationError)) throw error;
    return { status: `refused: ${error.message}`, lateMs: 0, mayStillRun: false };
  }
}
