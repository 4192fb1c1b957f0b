import { createRequire } from "node:module";
import type { AjvLibrary } from "./ajv-library.ts";
import { entryFile } from "./package-files.ts";

let file: string | undefined;
let library: AjvLibrary | undefined;

/**
 * Returns the path of ajv.
 *
 * @throws {PackageFileError} if the file does not exist, as in a bundle.
 */
export function findAjv(): string {
  file ??= entryFile("base/ajv-library");
  return file;
}

/**
 * Loads ajv, synchronously, with the first schema that is compiled: loading it takes longer than loading all of this package.
 *
 * @throws {PackageFileError} if its file does not exist, as in a bundle.
 */
export function loadAjv(): AjvLibrary {
  if (library === undefined) {
    const path = findAjv();
    library = (createRequire(path)(path) as typeof import("./ajv-library.ts")).LIBRARY;
  }
  return library;
}
