import { accessSync, constants, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { PORT_MODULES } from "./init-script.ts";

const KERNEL_NAME = /^vmlinuz-(\d[\w.+~-]*-cloud-amd64)$/;

/** Where Debian's package has kernels. */
const BOOT_DIRECTORY = "/boot";

/** A kernel, and the directory with its modules. */
export interface Kernel {
  readonly file: string;
  readonly modules: string;
}

/**
 * Finds the kernel of the machines.
 *
 * @param file The file of a kernel, named as in Debian's package, with its modules in `../lib/modules`. Default: the newest
 *   `/boot/vmlinuz-*-cloud-amd64`.
 * @throws {Error} if there is none that can be read. The message says what to install.
 */
export function findKernel(file: string | undefined): Kernel {
  const found = file ?? newestKernel();
  if (found === undefined) {
    throw new Error(
      `there is no kernel ${BOOT_DIRECTORY}/vmlinuz-*-cloud-amd64: install linux-image-cloud-amd64, ` +
        "or name one with the option 'kernel'",
    );
  }
  const [, version] = KERNEL_NAME.exec(basename(found)) ?? [];
  if (version === undefined)
    throw new Error(`the kernel '${found}' is not named vmlinuz-VERSION-cloud-amd64`);
  const modules = join(dirname(found), "..", "lib", "modules", version, "kernel", "drivers");
  for (const path of [found, modules]) {
    try {
      accessSync(path, constants.R_OK);
    } catch {
      throw new Error(`'${path}' of the kernel cannot be read`);
    }
  }
  return { file: found, modules };
}

function newestKernel(): string | undefined {
  let names: string[];
  try {
    names = readdirSync(BOOT_DIRECTORY);
  } catch {
    return undefined;
  }
  const newest = names
    .filter((name) => KERNEL_NAME.test(name))
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .at(-1);
  return newest && join(BOOT_DIRECTORY, newest);
}

/** Reads the modules of the ports, compressed or not: busybox reads both. */
export async function readModules({ modules }: Kernel): Promise<readonly { name: string; data: Buffer }[]> {
  return Promise.all(
    PORT_MODULES.map(async (path) => {
      const plain = `${basename(path)}.ko`;
      const data = await readFile(join(modules, `${path}.ko`)).catch(() => undefined);
      if (data !== undefined) return { name: plain, data };
      return { name: `${plain}.xz`, data: await readFile(join(modules, `${path}.ko.xz`)) };
    }),
  );
}
