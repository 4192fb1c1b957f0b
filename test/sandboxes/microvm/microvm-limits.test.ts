import fc from "fast-check";
import { expect, test } from "vitest";
// Inside: computes the sizes of machines up to 4 GiB, without starting any.
import { machineBytes, toolMemory } from "../../../src/sandboxes/microvm/microvm-limits.ts";

const MIB = 1_024 * 1_024;

test("a machine has room for what the tool may use, up to 4 GiB, and there are few sizes", () => {
  const sizes = new Set<number>();
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2 ** 40 }),
      fc.integer({ min: 0, max: 512 * MIB }),
      (limit, image) => {
        const tool = toolMemory(limit);
        const machine = machineBytes(tool, image);
        sizes.add(machine);
        expect(machine >= Math.min(limit + 2 * image, 4_096 * MIB)).toBe(true);
      },
    ),
  );
  expect(sizes.size).toBeLessThanOrEqual(6);
  expect(machineBytes(toolMemory(1), 3 * MIB)).toBe(128 * MIB);
});
