import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { WasmSandbox } from "../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { wasmTask } from "../../../fixtures/wasm/task.ts";
import { type WatVariation, watComponent } from "../../../fixtures/wasm/wat-component.ts";

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-fresh-"));
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheDirectory, { recursive: true, force: true });
});

/** Ends the call with `true` if the value on the stack is not 0, and with `false` otherwise. */
const ANSWER = `(if (then (i32.store (i32.const 20) (i32.const 100)) (i32.store (i32.const 24) (i32.const 4)))
  (else (i32.store (i32.const 20) (i32.const 104)) (i32.store (i32.const 24) (i32.const 5))))
  (i32.store8 (i32.const 16) (i32.const 0)) i32.const 16`;
const TEXTS = '(data (i32.const 100) "truefalse")';

/** Whether everything above 8 KiB is zero, and leaves nothing so: the call, its arguments and result lie below. */
const MEMORY = `
  (global $at (mut i32) (i32.const 8192)) (global $sum (mut i32) (i32.const 0))
  (func $isClean (result i32)
    (loop $next
      (global.set $sum (i32.or (global.get $sum) (i32.load (global.get $at))))
      (i32.store (global.get $at) (i32.const -1))
      (global.set $at (i32.add (global.get $at) (i32.const 4)))
      (br_if $next (i32.lt_u (global.get $at) (i32.shl (memory.size) (i32.const 16)))))
    (i32.eqz (global.get $sum)))`;

const GLOBALS = `
  (global $i (mut i32) (i32.const 7)) (global $l (mut i64) (i64.const 8))
  (global $f (mut f32) (f32.const 0.5)) (global $d (mut f64) (f64.const 0.25))
  (func $isClean (result i32)
    (i32.eq (global.get $i) (i32.const 7)) (i64.eq (global.get $l) (i64.const 8)) i32.and
    (f32.eq (global.get $f) (f32.const 0.5)) i32.and (f64.eq (global.get $d) (f64.const 0.25)) i32.and
    (global.set $i (i32.const 1)) (global.set $l (i64.const 1))
    (global.set $f (f32.const 1)) (global.set $d (f64.const 1)))`;

const NAN = `
  (global $f (mut f32) (f32.const nan:0x1234))
  (func $isClean (result i32)
    (i32.eq (i32.reinterpret_f32 (global.get $f)) (i32.const 0x7f801234))
    (global.set $f (f32.const 1)))`;

const VECTOR = `
  (global $v (mut v128) (v128.const i64x2 0 0))
  (func $isClean (result i32)
    (i32.eqz (v128.any_true (global.get $v)))
    (global.set $v (v128.const i64x2 1 1)))`;

const TABLE = `
  (table 1 funcref)
  (func $isClean (result i32)
    (ref.is_null (table.get 0 (i32.const 0)))
    (table.set 0 (i32.const 0) (ref.func $isClean)))
  (elem declare func $isClean)`;

const TABLE_SIZE = `
  (table 1 funcref)
  (func $isClean (result i32)
    (i32.eq (table.size 0) (i32.const 1))
    (drop (table.grow 0 (ref.null func) (i32.const 1))))`;

/** The second time, copying one byte from a dropped segment would be a trap. */
const SEGMENT = `
  (data $d "x")
  (func $isClean (result i32)
    (memory.init $d (i32.const 9000) (i32.const 0) (i32.const 1))
    (data.drop $d)
    (i32.eq (i32.load8_u (i32.const 9000)) (i32.const 0x78)))`;

const SIZE = `
  (func $isClean (result i32)
    (i32.eq (memory.size) (i32.const 1))
    (drop (memory.grow (i32.const 1))))`;

describe("a call finds nothing of the call before it", () => {
  test.each([
    ["in one page of memory", MEMORY, {}],
    ["in a memory of several pages", MEMORY, { memory: '(memory (export "memory") 5)' }],
    ["in a memory that is too large to be restored", MEMORY, { memory: '(memory (export "memory") 70)' }],
    ["in globals", GLOBALS, {}],
    ["in a global that is one of many NaNs", NAN, {}],
    ["in a global of 128 bits", VECTOR, {}],
    ["in a table", TABLE, {}],
    ["in the size of a table", TABLE_SIZE, {}],
    ["in data that it dropped", SEGMENT, {}],
    ["in the size of the memory", SIZE, {}],
  ] satisfies [string, string, WatVariation][])("%s", async (_where, fields, variation) => {
    const component = await watComponent({
      ...variation,
      fields: TEXTS + fields,
      call: `call $isClean ${ANSWER}`,
    });
    for (let call = 0; call < 5; call++) {
      const task = wasmTask(component, "probe", null, { sessionId: `session ${call}` });
      expect(await sandbox.run(task)).toMatchObject({ status: "completed", output: true });
    }
  });

  test("whatever was called in between, thousands of times", async () => {
    const probes = await Promise.all(
      [MEMORY, GLOBALS].map((fields) =>
        watComponent({ fields: TEXTS + fields, call: `call $isClean ${ANSWER}` }),
      ),
    );
    for (let round = 0; round < 20; round++) {
      const calls = Array.from({ length: 100 }, (_, call) =>
        sandbox.run(
          wasmTask(probes[call % 2] as Uint8Array, "probe", null, { sessionId: `session ${call % 7}` }),
        ),
      );
      for (const outcome of await Promise.all(calls)) {
        expect(outcome).toMatchObject({ status: "completed", output: true });
      }
    }
  });

  test("nor anything of a call that trapped", async () => {
    const trap = `(if (i32.eq (i32.load8_u (local.get 2)) (i32.const 0x74)) (then unreachable))`;
    const component = await watComponent({
      fields: TEXTS + GLOBALS,
      call: `call $isClean ${trap} ${ANSWER}`,
    });
    for (const input of [null, true, null, true, null]) {
      const outcome = await sandbox.run(wasmTask(component, "probe", input));
      if (input === null) expect(outcome).toMatchObject({ status: "completed", output: true });
      else expect(outcome).toMatchObject({ status: "failed" });
    }
  });
});
