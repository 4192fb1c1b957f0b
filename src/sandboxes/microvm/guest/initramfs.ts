import { readFile } from "node:fs/promises";
import { type ArchiveEntry, writeArchive } from "./cpio-archive.ts";
import { readImage } from "./image-entries.ts";
import { INIT_SCRIPT } from "./init-script.ts";
import { GUEST_DIRECTORY, KEEPER_PROGRAM } from "./keeper-program.ts";
import { type Kernel, readModules } from "./kernel.ts";

/** The directories that every machine has, whether its image has them or not. */
const DIRECTORIES = ["bin", "dev", "proc", "sys", "tmp"];

const DIRECTORY_MODE = 0o755;
const PRIVATE_DIRECTORY_MODE = 0o700;
const PROGRAM_MODE = 0o755;

/** Where Debian's package busybox-static has its program. */
export const BUSYBOX = "/bin/busybox";

/**
 * Builds the files of a machine as an initramfs: those of the image, and what Sandgate adds in a directory of its own.
 *
 * @param image The directory that is the root of the machine's files.
 * @throws {Error} if a file cannot be read, or the image cannot be packed.
 */
export async function buildInitramfs(image: string, kernel: Kernel): Promise<Buffer> {
  const files = await readImage(image);
  const taken = new Set(files.map(({ path }) => path));
  if (taken.has(GUEST_DIRECTORY)) throw new Error(`the image has '${GUEST_DIRECTORY}', which Sandgate adds`);
  const added = DIRECTORIES.filter((path) => !taken.has(path)).map((path) => directory(path));
  return writeArchive([...added, ...files, ...(await ownFiles(kernel))]);
}

async function ownFiles(kernel: Kernel): Promise<readonly ArchiveEntry[]> {
  const modules = await readModules(kernel);
  return [
    directory(GUEST_DIRECTORY),
    directory(`${GUEST_DIRECTORY}/run`, PRIVATE_DIRECTORY_MODE),
    directory(`${GUEST_DIRECTORY}/groups`, PRIVATE_DIRECTORY_MODE),
    directory(`${GUEST_DIRECTORY}/modules`, PRIVATE_DIRECTORY_MODE),
    // In the order in which they are loaded.
    ...modules.map(({ name, data }, index) => program(`modules/${index}-${name}`, data)),
    program("busybox", await readFile(BUSYBOX)),
    program("init", Buffer.from(INIT_SCRIPT)),
    program("keeper", KEEPER_PROGRAM),
  ];
}

function directory(path: string, mode: number = DIRECTORY_MODE): ArchiveEntry {
  return { path, kind: "directory", mode };
}

function program(name: string, data: Uint8Array): ArchiveEntry {
  return { path: `${GUEST_DIRECTORY}/${name}`, kind: "file", mode: PROGRAM_MODE, data };
}
