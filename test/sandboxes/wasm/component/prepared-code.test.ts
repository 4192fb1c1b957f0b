import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { expect, test } from "vitest";
// Inside: whether instances are made ahead of a call changes only how long it takes.
import { prepareCode } from "../../../../src/sandboxes/wasm/component/prepared-code.ts";
import { readCoreModule } from "../../../../src/sandboxes/wasm/core-module/core-module.ts";

const MIB = 1_024 * 1_024;

test("an instance is only made ahead of a call if it copies little data", async () => {
  const binary = await parse(`(module (memory 64) (data (i32.const 0) "${"x".repeat(4 * MIB)}"))`);
  const source = { binary, module: readCoreModule(binary) };
  const few = await prepareCode([{ ...source, instances: 16 }], 64 * 4 * MIB);
  expect(few.startsAtOnce).toBe(true);
  const many = await prepareCode([{ ...source, instances: 17 }], 68 * 4 * MIB);
  expect(many.startsAtOnce).toBe(false);
});
