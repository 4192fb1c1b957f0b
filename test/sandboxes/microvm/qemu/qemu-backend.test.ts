import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
// Inside: reads the memory maps of QEMU, and cuts off the state that it saved.
import type { Machine } from "../../../../src/sandboxes/microvm/machine.ts";
import { rehearse } from "../../../../src/sandboxes/microvm/machine-pool.ts";
import { canSealMemory, QemuBackend } from "../../../../src/sandboxes/microvm/qemu/qemu-backend.ts";
import { unavailable } from "../availability.ts";

const TOOL_BYTES = 64 * 1_024 * 1_024;

describe.skipIf(unavailable)("a machine that QEMU saved", { timeout: 300_000 }, () => {
  let directory: string;
  let image: string;
  const backends: QemuBackend[] = [];

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "qemu-backend-"));
    image = mkdtempSync(join(directory, "image-"));
  });

  afterAll(async () => {
    for (const backend of backends) await backend.close();
    rmSync(directory, { recursive: true });
  });

  function open(maxSealedBytes?: number): QemuBackend {
    const cacheDirectory = join(directory, "cache");
    const backend = new QemuBackend({
      accelerator: "tcg",
      cacheDirectory,
      ...(maxSealedBytes !== undefined && { maxSealedBytes }),
    });
    backends.push(backend);
    return backend;
  }

  /** The files that QEMU maps, as this process sees them. */
  function mapped(machine: Machine & { readonly pid?: number }): string {
    const group = machine.pid;
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map((name) => {
        try {
          const stat = readFileSync(`/proc/${name}/stat`, "latin1");
          const [, , processGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
          return Number(processGroup) === group ? readFileSync(`/proc/${name}/maps`, "latin1") : "";
        } catch {
          // It has ended meanwhile.
          return "";
        }
      })
      .join("");
  }

  async function runsProgram(machine: Machine): Promise<boolean> {
    const isReady = await Promise.race([rehearse(machine), machine.ended]);
    return isReady === true;
  }

  test.skipIf(!canSealMemory())(
    "is restored twice, each with pages of its own of the same memory",
    async () => {
      const saved = await open().save(image, TOOL_BYTES);
      const machines = [saved.restore(), saved.restore()];
      for (const machine of machines) {
        expect(await runsProgram(machine)).toBe(true);
        // Readable, writable and private.
        expect(mapped(machine)).toMatch(/ rw-p .* \/memfd:sandgate-machine/);
        expect(mapped(machine)).not.toMatch(/ rw-s .* \/memfd:sandgate-machine/);
        machine.kill();
        expect(await machine.ended).toMatchObject({ cause: "killed" });
      }
    },
  );

  test("is restored from a state with the memory, when no more may be sealed", async () => {
    const saved = await open(0).save(image, TOOL_BYTES);
    const machine = saved.restore();
    expect(await runsProgram(machine)).toBe(true);
    expect(mapped(machine)).not.toContain("memfd:sandgate-machine");
    machine.kill();
    await machine.ended;
  });

  test("is saved anew if its state was cut off", async () => {
    const cache = join(directory, "cache");
    await open().save(image, TOOL_BYTES);
    for (const name of readdirSync(cache)) truncateSync(join(cache, name), 4_096);
    const saved = await open().save(image, TOOL_BYTES);
    const machine = saved.restore();
    expect(await runsProgram(machine)).toBe(true);
    machine.kill();
    await machine.ended;
  });

  test("cannot be restored when its backend is closed", async () => {
    const backend = open();
    const saved = await backend.save(image, TOOL_BYTES);
    await backend.close();
    if (canSealMemory()) expect(() => saved.restore()).toThrow("the saved virtual machine is closed");
    await expect(backend.save(image, TOOL_BYTES)).rejects.toThrow("the sandbox is closed");
  });
});
