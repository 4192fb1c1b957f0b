import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TemporaryDirectory } from "../records.ts";
import type { DiskFailure, DiskReport } from "./order.ts";

const PROGRAM = fileURLToPath(new URL("program.ts", import.meta.url));

/** What runs before the program, in a shell whose first argument is the folder of the journal's disk. */
const PREPARATIONS: Record<DiskFailure, string> = {
  "closed file": "",
  // Otherwise the signal ends the process.
  "file size": "trap '' XFSZ; ulimit -f 32;",
  "full disk": 'mount -t tmpfs -o size=256k tmpfs "$1" &&',
  "read-only file system": `
    truncate -s 8M "$1.img" && mkfs.ext4 -q -F "$1.img" && mount -o loop,errors=remount-ro "$1.img" "$1" &&
    export TRIGGER=/sys/fs/ext4/$(basename "$(findmnt -no SOURCE "$1")")/trigger_fs_error &&`,
};

/** Runs the program with a disk that fails. */
export function runOnDisk(failure: DiskFailure): DiskReport {
  using directory = new TemporaryDirectory();
  const disk = join(directory.path, "disk");
  mkdirSync(disk);
  const order = { directory: join(disk, "journal"), effects: join(directory.path, "effects"), failure };
  const script = `${PREPARATIONS[failure]} exec "$2" "$3" "$4"`;
  const shell = ["sh", "-c", script, "sh", disk, process.execPath, PROGRAM, JSON.stringify(order)];
  const [command = "", ...args] = isMounted(failure) ? ["unshare", "-m", ...shell] : shell;
  const { stdout, stderr, status, signal } = spawnSync(command, args, { encoding: "utf8", timeout: 50_000 });
  if (status !== 0) throw new Error(`the process ended with ${signal ?? status}: ${stderr}`);
  return JSON.parse(stdout) as DiskReport;
}

/** Why a failure cannot be tried on this machine; `undefined` if it can. */
export function whyNot(failure: DiskFailure): string | undefined {
  if (!isMounted(failure)) return undefined;
  if (process.getuid?.() !== 0) return "only root can mount file systems";
  const { status } = spawnSync("unshare", ["-m", "sh", "-c", PROBES[failure] ?? ""]);
  return status === 0 ? undefined : "file systems cannot be mounted here";
}

const PROBES: Partial<Record<DiskFailure, string>> = {
  "full disk": "mount -t tmpfs tmpfs /mnt",
  "read-only file system": "command -v mkfs.ext4 && test -w /sys/fs/ext4 && losetup -f",
};

function isMounted(failure: DiskFailure): boolean {
  return failure === "full disk" || failure === "read-only file system";
}
