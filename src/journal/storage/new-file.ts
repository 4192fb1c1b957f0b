import { type FileHandle, open, rename, rm } from "node:fs/promises";

const OWNER_ONLY = 0o600;

/**
 * Creates a file. What has the path already is removed: it could be a link, and nothing is written to where it leads.
 *
 * @param mode Default: only its owner can read and write it.
 */
export async function createFile(path: string, mode: number = OWNER_ONLY): Promise<FileHandle> {
  await rm(path, { force: true });
  return open(path, "wx", mode);
}

/**
 * Writes a file as a whole, and makes it durable. If it rejects, or the process ends, what has the path is as it was.
 *
 * @param mode See {@link createFile}.
 */
export async function replaceFile(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  const part = `${path}.part`;
  try {
    {
      await using file = await createFile(part, mode);
      await file.writeFile(content);
      await file.datasync();
    }
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }).catch(() => {});
    throw error;
  }
}
