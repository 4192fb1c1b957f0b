import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { ArchiveEntry } from "./cpio-archive.ts";

/** The most bytes of an image's files. All of them are in the memory of each machine. */
export const MAX_IMAGE_BYTES: number = 512 * 1_024 * 1_024;

/** The most files, directories and links of an image. */
const MAX_ENTRIES = 100_000;

/** Bits of a mode without those that change the user or group of a program. */
const PERMISSIONS = 0o777;

/**
 * Reads the directory that is an image. Links stay links: none is followed.
 *
 * @returns what it contains, in the order of the paths.
 * @throws {Error} if it cannot be read, is too large, or contains anything but files, directories and links.
 */
export async function readImage(directory: string): Promise<readonly ArchiveEntry[]> {
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
