import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
// Inside: lists an archive with cpio; a machine shows only whether its kernel could unpack it.
import { writeArchive } from "../../../../src/sandboxes/microvm/guest/initramfs.ts";

const BUSYBOX = "/bin/busybox";
const hasBusybox = existsSync(BUSYBOX);
if (!hasBusybox) console.warn(`The test that unpacks an archive is skipped: there is no ${BUSYBOX}`);

const entries = [
  { path: "a", kind: "directory", mode: 0o755 },
  { path: "a/ü", kind: "file", mode: 0o640, data: Buffer.from("12345") },
  { path: "a/empty", kind: "file", mode: 0o600, data: Buffer.alloc(0) },
  { path: "link", kind: "link", target: "a/ü" },
] as const;

test("equal entries make equal archives", () => {
  expect(writeArchive(entries).equals(writeArchive([...entries]))).toBe(true);
});

test.skipIf(!hasBusybox)("cpio lists the entries of an archive with their modes, sizes and targets", () => {
  const { stdout } = spawnSync(BUSYBOX, ["cpio", "-tv"], { input: writeArchive(entries), encoding: "utf8" });
  const listed = stdout
    .trim()
    .split("\n")
    .map((line) => line.replace(/\s+/g, " "));
  expect(listed).toEqual([
    expect.stringMatching(/^drwxr-xr-x 0\/0 0 .* a$/),
    expect.stringMatching(/^-rw-r----- 0\/0 5 .* a\/ü$/),
    expect.stringMatching(/^-rw------- 0\/0 0 .* a\/empty$/),
    expect.stringMatching(/^lrwxrwxrwx 0\/0 .* link -> a\/ü$/),
  ]);
});
