import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
// Inside: opens a sealed file for writing; a machine keeps its file to itself.
import { canSealMemory, sealMemory } from "../../../../src/sandboxes/microvm/qemu/qemu-backend.ts";

const MEMORY = Buffer.concat([Buffer.alloc(8_192), Buffer.alloc(4_096, 7), Buffer.alloc(4_096)]);

describe.skipIf(!canSealMemory())("the sealed memory of a saved machine", () => {
  let directory: string;
  let file: string;

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "sealed-memory-"));
    file = join(directory, "state");
    writeFileSync(file, Buffer.concat([Buffer.alloc(4_096, 1), MEMORY]));
  });

  afterAll(() => rmSync(directory, { recursive: true }));

  test("is the end of the file, and stays as it is when the file is gone", async () => {
    const copy = join(directory, "removed");
    writeFileSync(copy, readFileSync(file));
    const sealed = await sealMemory(copy, MEMORY.length);
    rmSync(copy);
    expect(readFileSync(sealed).equals(MEMORY)).toBe(true);
    closeSync(sealed);
  });

  test("cannot be changed by a process that opens it for writing", async () => {
    const sealed = await sealMemory(file, MEMORY.length);
    const writable = openSync(`/proc/self/fd/${sealed}`, "r+");
    expect(() => writeSync(writable, "x", 0)).toThrow("EPERM");
    for (const size of [0, 4_096, 2 * MEMORY.length])
      expect(() => ftruncateSync(writable, size)).toThrow("EPERM");
    expect(readFileSync(`/proc/self/fd/${sealed}`).equals(MEMORY)).toBe(true);
    for (const fd of [sealed, writable]) closeSync(fd);
  });

  test("is refused, with the reason, if the file is too short", async () => {
    await expect(sealMemory(file, 1_000_000)).rejects.toThrow("the memory of a machine cannot be sealed: ");
  });
});
