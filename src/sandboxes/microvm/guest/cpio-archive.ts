/** One file, directory or link of an archive. */
export type ArchiveEntry =
  | { readonly path: string; readonly kind: "directory"; readonly mode: number }
  | { readonly path: string; readonly kind: "file"; readonly mode: number; readonly data: Uint8Array }
  | { readonly path: string; readonly kind: "link"; readonly target: string };

/** Type bits of a mode (inode(7)). */
const TYPE_BITS = { directory: 0o040000, file: 0o100000, link: 0o120000 } as const;

/** The name of the entry that ends an archive. */
const TRAILER = "TRAILER!!!";

/** The bytes of an entry's header, before its name. */
const HEADER_BYTES = 110;

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
