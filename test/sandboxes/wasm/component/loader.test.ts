import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
// Inside: sees that two who ask get the same component, and that the cache is written once.
import { ComponentCache } from "../../../../src/sandboxes/wasm/component/cache.ts";
import { ComponentLoader } from "../../../../src/sandboxes/wasm/component/loader.ts";
import { WasmSandbox } from "../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { contractComponent } from "../../../fixtures/wasm/contract-component.ts";
import { wasmTask } from "../../../fixtures/wasm/task.ts";
import { watComponent } from "../../../fixtures/wasm/wat-component.ts";

const MIB = 1_024 * 1_024;
const root = mkdtempSync(join(tmpdir(), "sandgate-prepare-"));
const sandbox = new WasmSandbox({ cacheDirectory: join(root, "cache"), workers: { threads: 1 } });
const component = await contractComponent();
afterAll(async () => {
  await sandbox.close();
  rmSync(root, { recursive: true, force: true });
});

describe("preparing a component", () => {
  test("refuses one that would inject JavaScript through a name, and runs its harmless twin", async () => {
    const hostile = await watComponent({ fields: `(func (export "x'];globalThis.PWNED=1;//"))` });
    await expect(sandbox.prepare({ wasm: { component: hostile } })).rejects.toThrow(/has the name/);
    expect(await sandbox.run(wasmTask(hostile, "any"))).toMatchObject({
      status: "unavailable",
      effect: "none",
      detail: expect.stringContaining("has the name"),
    });
    const harmless = await watComponent({ fields: '(func (export "[x]/globalThis.PWNED=1"))' });
    expect(await sandbox.run(wasmTask(harmless, "any", "safe"))).toMatchObject({ output: "safe" });
  });

  test("says why a component cannot be read", async () => {
    const missing = { wasm: { component: join(root, "missing.wasm") } };
    await expect(sandbox.prepare(missing)).rejects.toThrow(/cannot be read: .*ENOENT/);
    await expect(sandbox.prepare({ wasm: { component: root } })).rejects.toThrow(/is not a file|EISDIR/);
    const huge = { wasm: { component: new Uint8Array(64 * MIB + 1) } };
    await expect(sandbox.prepare(huge)).rejects.toThrow(/larger than/);
  });

  test("tries again after a failure", async () => {
    const path = join(root, "late.wasm");
    const wasm = { component: path };
    await expect(sandbox.prepare({ wasm })).rejects.toThrow(/cannot be read/);
    writeFileSync(path, readFileSync(component));
    await sandbox.prepare({ wasm });
  });

  test("keeps what was prepared, whatever becomes of the bytes that it was given", async () => {
    const wasm = { component: Uint8Array.from(readFileSync(component)) };
    const preparing = sandbox.prepare({ wasm });
    wasm.component.fill(0);
    await preparing;
    const task = wasmTask(component, "echo", 7, { implementations: { wasm } });
    expect(await sandbox.run(task)).toMatchObject({ output: 7 });
  });

  test("is shared by everybody who asks for the same bytes at the same time", async () => {
    const loader = new ComponentLoader(new ComponentCache(join(root, "shared")));
    const [first, second] = await Promise.all([
      loader.load({ component }),
      loader.load({ component: readFileSync(component) }),
    ]);
    expect(first).toBe(second);
  });

  test("is done once for all processes, and again when the cache is damaged", async () => {
    const directory = join(root, "kept");
    const inode = async (): Promise<number> => {
      await new ComponentLoader(new ComponentCache(directory)).load({ component });
      const [entry = ""] = readdirSync(directory);
      return statSync(join(directory, entry)).ino;
    };
    const built = await inode();
    expect(await inode()).toBe(built);
    const [entry = ""] = readdirSync(directory);
    const damaged = readFileSync(join(directory, entry));
    damaged[100] = (damaged[100] ?? 0) ^ 1;
    writeFileSync(join(directory, entry), damaged);
    expect(await inode()).not.toBe(built);
    expect(readFileSync(join(directory, entry))).not.toEqual(damaged);
  });
});
