import { existsSync } from "node:fs";
import { extname, join } from "node:path";
import { PackageFileError } from "./package/package-file-error.ts";

/** The file of this code. A bundle of CommonJS leaves it undefined. */
const OWN_FILE = import.meta.filename as string | undefined;

/**
 * Returns the path of the entry module of a thread or a child process. In development this is the `.ts` file in `src`,
 * in the built package the `.js` file at the same place in `dist`.
 *
 * @param path The path from `src`, without the extension.
 * @throws {PackageFileError} if the file does not exist, as in a bundle.
 */
export function entryFile(path: string): string {
  if (OWN_FILE === undefined) throw new PackageFileError(path);
  // The built package has this code in `dist/chunks`, which is as deep as this folder: scripts/build.ts.
  const file = join(OWN_FILE, "../..", path + extname(OWN_FILE));
  if (!existsSync(file)) throw new PackageFileError(path);
  return file;
}
