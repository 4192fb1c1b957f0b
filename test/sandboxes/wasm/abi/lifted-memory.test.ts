import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { AMPLIFIED_TYPES } from "../../../fixtures/wasm/lifted-values.ts";

const PROGRAM = fileURLToPath(new URL("../../../fixtures/wasm/lifted-values-process.ts", import.meta.url));
const MIB = 2 ** 20;

interface Report {
  readonly memoryBytes: number;
  readonly grownBytes: number;
  readonly ends: readonly string[];
}

describe("a component that passes values which take much more memory on the host", () => {
  // One after the other: all processes at once would share two processors.
  test.each(
    AMPLIFIED_TYPES,
  )("does not make the process grow by more than twice the memory limit: %s", async (name) => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, name]);
    const { memoryBytes, grownBytes, ends } = JSON.parse(stdout) as Report;
    expect(grownBytes).toBeLessThanOrEqual(2 * memoryBytes + 32 * MIB);
    expect(ends.at(-1)).toBe("memoryBytes");
  });
});
