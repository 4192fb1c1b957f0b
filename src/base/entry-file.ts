import { extname, join } from "node:path";

/**
 * Returns the path of the entry module of a thread or a child process. In development this is the `.ts` file in `src`,
 * in the built package the `.js` file at the same place in `dist`.
 *
 * @param path The path from `src`, without the extension.
 */
export function entryFile(path: string): string {
  // The built package has this code in `dist/chunks`, which is as deep as this folder: scripts/build.ts.
  return join(import.meta.dirname, "..", path + extname(import.meta.filename));
}
