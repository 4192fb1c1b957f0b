import { createRequire } from "node:module";
import { PackageFileError } from "./package-file-error.ts";

/**
 * Returns the path of a module or a file of a dependency, which is loaded on demand.
 *
 * @throws {PackageFileError} if it is not installed where this code is, as in a bundle.
 */
export function resolveDependency(name: string): string {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw new PackageFileError(name, { cause });
  }
}
