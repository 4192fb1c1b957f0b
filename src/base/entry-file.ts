import { extname, join } from "node:path";

/**
 * The path of a thread's or a child's entry module, by its path from `src` without the extension: Node runs the `.ts`
 * in development, and the `.js` of the built package, which is at the same place in `dist`.
 */
export function entryFile(path: string): string {
  // The built package has this code in `dist/chunks`, which is as deep as this folder: scripts/build.ts.
  return join(import.meta.dirname, "..", path + extname(import.meta.filename));
}
