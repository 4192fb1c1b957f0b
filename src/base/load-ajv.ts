import { createRequire } from "node:module";
import type { AjvLibrary } from "./ajv-library.ts";
import { entryFile } from "./entry-file.ts";

const require = createRequire(import.meta.url);
let library: AjvLibrary | undefined;

/** Loads ajv, synchronously, with the first schema: loading it takes longer than loading all of this package. */
export function loadAjv(): AjvLibrary {
  library ??= (require(entryFile("base/ajv-library")) as typeof import("./ajv-library.ts")).LIBRARY;
  return library;
}
