import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { microvmAvailability } from "../../../src/sandboxes/microvm/availability.ts";
// Inside: looks for a kernel in a folder of its own, also where QEMU is not installed.
import { findKernel } from "../../../src/sandboxes/microvm/guest/initramfs.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { unavailable } from "./availability.ts";

test("says what is missing", async () => {
  const kernel = "/absent/vmlinuz-1-cloud-amd64";
  const found = await microvmAvailability({ kernel });
  expect(found).toEqual({ available: false, reason: expect.stringMatching(/\w+ \w+/) });
  await using sandboxes = await openSandboxes({ microvm: { kernel } });
  await expect(sandboxes.prepare({ microvm: { image: "/", command: "sh" } })).rejects.toThrow(
    (found as { reason: string }).reason,
  );
});

test("finds the modules of a kernel beside it, and refuses a kernel without them", () => {
  const folder = mkdtempSync(join(tmpdir(), "kernel-"));
  const file = join(folder, "boot", "vmlinuz-6.1.0-1-cloud-amd64");
  const modules = join(folder, "lib", "modules", "6.1.0-1-cloud-amd64", "kernel", "drivers");
  mkdirSync(join(folder, "boot"));
  writeFileSync(file, "");
  expect(() => findKernel(file)).toThrow("cannot be read");
  mkdirSync(modules, { recursive: true });
  expect(findKernel(file)).toEqual({ file, modules });
  expect(() => findKernel(join(folder, "bzImage"))).toThrow("is not named vmlinuz-VERSION-cloud-amd64");
  rmSync(folder, { recursive: true });
});

test.skipIf(unavailable)("refuses a cache directory that others have access to", async () => {
  const cacheDirectory = mkdtempSync(join(tmpdir(), "microvm-cache-"));
  const image = join(cacheDirectory, "image");
  mkdirSync(join(cacheDirectory, "open"), { mode: 0o755 });
  mkdirSync(image);
  await using sandboxes = await openSandboxes({ microvm: { cacheDirectory: join(cacheDirectory, "open") } });
  const preparing = sandboxes.prepare({ microvm: { image, command: "sh" } });
  await expect(preparing).rejects.toThrow("others have access to the cache directory");
  rmSync(cacheDirectory, { recursive: true });
});

test.skipIf(unavailable)("refuses an image that cannot be packed, and says why", async () => {
  await using sandboxes = await openSandboxes();
  const prepare = (image: string) => sandboxes.prepare({ microvm: { image, command: "sh" } });
  await expect(prepare("/absent")).rejects.toThrow("ENOENT");
  await expect(prepare("/dev")).rejects.toThrow("the image has a device, pipe or socket");
});
