import { createRequire } from "node:module";
import { entryFile } from "./entry-file.ts";

/** The module `ajv-library.ts`. */
export type AjvLibrary = typeof import("./ajv-library.ts");

const require = createRequire(import.meta.url);
let library: AjvLibrary | undefined;

/** Loads ajv, synchronously, with the first schema: loading it takes longer than loading all of this package. */
export function loadAjv(): AjvLibrary {
  library ??= require(entryFile("base/ajv-library")) as AjvLibrary;
  return library;
}
