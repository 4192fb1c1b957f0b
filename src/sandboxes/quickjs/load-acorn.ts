import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { LIBRARY } from "./acorn-library.ts";

/** Where acorn is beside this code: in `src`, in the files of QuickJS's threads, and in that of the check of programs. */
const PLACES = ["./acorn-library", "../acorn-library", "../../sandboxes/quickjs/acorn-library"];

let library: typeof LIBRARY | undefined;

/** Loads acorn, synchronously, on first use: most threads of QuickJS run no programs. */
export function loadAcorn(): typeof LIBRARY {
  if (library === undefined) {
    const extension = extname(import.meta.filename);
    const files = PLACES.map((place) => fileURLToPath(new URL(`${place}${extension}`, import.meta.url)));
    const file = files.find((each) => existsSync(each)) ?? "acorn-library";
    library = (createRequire(file)(file) as { readonly LIBRARY: typeof LIBRARY }).LIBRARY;
  }
  return library;
}
