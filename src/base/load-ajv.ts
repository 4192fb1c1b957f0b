import { createRequire } from "node:module";
import type { AjvLibrary } from "./ajv-library.ts";
import { entryFile } from "./entry-file.ts";

let library: AjvLibrary | undefined;

/**
 * Loads ajv, synchronously, with the first schema: loading it takes longer than loading all of this package.
 *
 * @throws {PackageFileError} if its file does not exist, as in a bundle.
 */
export function loadAjv(): AjvLibrary {
  if (library === undefined) {
    const file = entryFile("base/ajv-library");
    library = (createRequire(file)(file) as typeof import("./ajv-library.ts")).LIBRARY;
  }
  return library;
}
