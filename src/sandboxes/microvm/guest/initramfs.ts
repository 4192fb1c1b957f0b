import { accessSync, constants, readdirSync } from "node:fs";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MICROVM_DEFAULTS } from "../microvm-limits.ts";
import { FIRST_PROCESS, GROUP, GUEST_DIRECTORY, PEAK_FILE } from "./first-process.ts";

/** The kernel modules of the ports, in the order in which they must be loaded, by their paths below `drivers`. */
const PORT_MODULES: readonly string[] = [
  "virtio/virtio_ring",
  "virtio/virtio",
  "virtio/virtio_pci_modern_dev",
  "virtio/virtio_pci_legacy_dev",
  "virtio/virtio_pci",
  "char/virtio_console",
];

/** A script for the shell of busybox, which sets up the machine and becomes its first process. */
const INIT_SCRIPT: string = `#!/${GUEST_DIRECTORY}/busybox sh
b=/${GUEST_DIRECTORY}/busybox
group=${GROUP}
unset TERM
export PATH=/bin

$b mount -t devtmpfs -o nosuid,noexec none /dev
$b mount -t proc -o nosuid,nodev,noexec none /proc
$b mount -t sysfs -o ro,nosuid,nodev,noexec none /sys
$b mount -t tmpfs -o nosuid,nodev,mode=1777 none /tmp
$b mount -t tmpfs -o nosuid,nodev,noexec,mode=0700 none \${b%/*}/run
$b mount -t cgroup2 none \${group%/*}
echo '+memory +pids' >\${group%/*}/cgroup.subtree_control
$b mkdir $group
echo 1 >$group/memory.oom.group
echo ${MICROVM_DEFAULTS.memoryBytes} >$group/memory.max
echo ${MICROVM_DEFAULTS.processes} >$group/pids.max
# Kernels before 5.19 do not have it.
if [ -e $group/memory.peak ]; then $b ln -s $group/memory.peak ${PEAK_FILE}; else echo none >${PEAK_FILE}; fi
echo 0 >/proc/sys/user/max_user_namespaces
for module in /${GUEST_DIRECTORY}/modules/*; do $b insmod $module; done
$b --install -s /bin 2>/dev/null
until [ -c /dev/vport0p4 ]; do $b usleep 10000; done
# Reading would find an end before the host is connected; writing waits for it.
for port in 1 2 3 4; do echo >/dev/vport0p$port; done
$b mount -o remount,ro /
cd /tmp
exec /${GUEST_DIRECTORY}/first-process
`;

/** One file, directory or link of an archive. */
type ArchiveEntry =
  | { readonly path: string; readonly kind: "directory"; readonly mode: number }
  | { readonly path: string; readonly kind: "file"; readonly mode: number; readonly data: Uint8Array }
  | { readonly path: string; readonly kind: "link"; readonly target: string };

/** Type bits of a mode (inode(7)). */
const TYPE_BITS = { directory: 0o040000, file: 0o100000, link: 0o120000 } as const;

/** The name of the entry that ends an archive. */
const TRAILER = "TRAILER!!!";

/** The bytes of an entry's header, before its name. */
const HEADER_BYTES = 110;

/** Maximum number of bytes of an image's files. All of them are in the memory of each machine. */
const MAX_IMAGE_BYTES: number = 512 * 1_024 * 1_024;

/** Maximum number of files, directories and links of an image. */
const MAX_ENTRIES = 100_000;

/** Bits of a mode without those that change the user or group of a program. */
const PERMISSIONS = 0o777;

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
    program("first-process", FIRST_PROCESS),
  ];
}

function directory(path: string, mode: number = DIRECTORY_MODE): ArchiveEntry {
  return { path, kind: "directory", mode };
}

function program(name: string, data: Uint8Array): ArchiveEntry {
  return { path: `${GUEST_DIRECTORY}/${name}`, kind: "file", mode: PROGRAM_MODE, data };
}

/**
 * Reads the directory that is an image. Links are copied, not followed.
 *
 * @returns what it contains, in the order of the paths.
 * @throws {Error} if it cannot be read, is too large, or contains anything but files, directories and links.
 */
async function readImage(directory: string): Promise<readonly ArchiveEntry[]> {
  const entries: ArchiveEntry[] = [];
  let bytes = 0;
  const readBelow = async (parent: string): Promise<void> => {
    for (const name of (await readdir(join(directory, parent))).sort()) {
      const path = parent === "" ? name : `${parent}/${name}`;
      const file = join(directory, path);
      const status = await lstat(file);
      const mode = status.mode & PERMISSIONS;
      if (entries.length >= MAX_ENTRIES) throw new Error(`the image has more than ${MAX_ENTRIES} files`);
      if (status.isDirectory()) {
        entries.push({ path, kind: "directory", mode });
        await readBelow(path);
      } else if (status.isSymbolicLink()) {
        entries.push({ path, kind: "link", target: await readlink(file) });
      } else if (status.isFile()) {
        bytes += status.size;
        if (bytes > MAX_IMAGE_BYTES) throw new Error(`the image has more than ${MAX_IMAGE_BYTES} bytes`);
        entries.push({ path, kind: "file", mode, data: await readFile(file) });
      } else throw new Error(`the image has a device, pipe or socket: '${path}'`);
    }
  };
  await readBelow("");
  return entries;
}

/**
 * Writes an archive in the "newc" format of cpio, which the kernel unpacks as an initramfs (Linux,
 * Documentation/driver-api/early-userspace/buffer-format.rst). Everything belongs to root and has no time, so that equal
 * entries make equal archives.
 *
 * @param entries Directories before what they contain. Paths are relative to the root and have no `.` or `..`.
 */
export function writeArchive(entries: readonly ArchiveEntry[]): Buffer {
  return Buffer.concat([
    ...entries.flatMap((entry, index) => writeEntry(entry, index + 1)),
    ...record(TRAILER, 0, 0, Buffer.alloc(0)),
  ]);
}

function writeEntry(entry: ArchiveEntry, inode: number): readonly Uint8Array[] {
  const mode = entry.kind === "link" ? 0o777 : entry.mode;
  return record(entry.path, inode, TYPE_BITS[entry.kind] | mode, dataOf(entry));
}

function dataOf(entry: ArchiveEntry): Uint8Array {
  if (entry.kind === "file") return entry.data;
  return Buffer.from(entry.kind === "link" ? entry.target : "");
}

/** The header, the name and the data; name and data are followed by zeros up to a multiple of four bytes. */
function record(path: string, inode: number, mode: number, data: Uint8Array): readonly Uint8Array[] {
  const name = Buffer.from(`${path}\0`);
  // ino, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor, rdevmajor, rdevminor, namesize, check
  const fields = [inode, mode, 0, 0, 1, 0, data.length, 0, 0, 0, 0, name.length, 0];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, "0")).join("")}`;
  return [
    Buffer.from(header, "latin1"),
    name,
    padding(HEADER_BYTES + name.length),
    data,
    padding(data.length),
  ];
}

function padding(length: number): Buffer {
  return Buffer.alloc(-length & 3);
}

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
 * @param file The file of a kernel, named as in Debian's package, with its modules in `../lib/modules`.
 *   Default: the newest `/boot/vmlinuz-*-cloud-amd64`.
 * @throws {Error} if no kernel can be read. The message says what to install.
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
async function readModules({ modules }: Kernel): Promise<readonly { name: string; data: Buffer }[]> {
  return Promise.all(
    PORT_MODULES.map(async (path) => {
      const plain = `${basename(path)}.ko`;
      const data = await readFile(join(modules, `${path}.ko`)).catch(() => undefined);
      if (data !== undefined) return { name: plain, data };
      return { name: `${plain}.xz`, data: await readFile(join(modules, `${path}.ko.xz`)) };
    }),
  );
}
