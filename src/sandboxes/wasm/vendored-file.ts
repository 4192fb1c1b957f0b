import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";

/**
 * Parts of `@bytecodealliance/jco-transpile` that run without its dependencies: `wasm-tools` as a core module, and as
 * JavaScript with its core modules beside it; the generator of JavaScript in the same form.
 */
export type VendoredFile = "wasm-tools.core.wasm" | "wasm-tools.js" | "js-component-bindgen-component.js";

/**
 * Returns the path of a vendored file. The built package has these files in `dist/vendor`, so that the package is not
 * installed, of whose dependencies the optimiser alone takes 93 MB. In development they are in `node_modules`.
 */
export function vendoredFile(name: VendoredFile): string {
  // The built package has this code in `dist/chunks`: scripts/build.ts.
  if (extname(import.meta.filename) === ".js") return join(import.meta.dirname, "..", "vendor", name);
  const { resolve } = createRequire(import.meta.url);
  return join(dirname(resolve("@bytecodealliance/jco-transpile/component")), name);
}
