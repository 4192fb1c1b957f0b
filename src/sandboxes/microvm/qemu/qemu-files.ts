import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { promisify } from "node:util";
import { BUSYBOX, findKernel, type Kernel } from "../guest/initramfs.ts";
import { Confinement } from "./confinement.ts";

/** Where Debian's package qemu-system-x86 has its program. */
export const QEMU = "/usr/bin/qemu-system-x86_64";

/** The files for machines that were found on this machine. */
export interface QemuFiles {
  readonly qemu: string;
  /** The version that QEMU reports. */
  readonly version: string;
  readonly kernel: Kernel;
  readonly confinement: Confinement;
}

/**
 * Finds QEMU, the kernel and busybox.
 *
 * @param kernel See `findKernel`.
 * @throws {Error} if one of them is missing. The message says what to install.
 */
export async function findQemuFiles(kernel: string | undefined): Promise<QemuFiles> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error("virtual machines are supported on Linux on x86-64 only");
  const version = await versionOf(QEMU);
  try {
    accessSync(BUSYBOX, constants.R_OK);
  } catch {
    throw new Error(`there is no ${BUSYBOX}: install busybox-static`);
  }
  return { qemu: QEMU, version, kernel: findKernel(kernel), confinement: await Confinement.open() };
}

async function versionOf(qemu: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(qemu, ["--version"], { env: {} });
    return stdout.trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new Error(`there is no ${qemu}: install qemu-system-x86`);
    throw new Error(`${qemu} cannot be run: ${message}`);
  }
}
