import { existsSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { PackageFileError, resolveDependency } from "../../base/package-files.ts";

/**
 * Parts of `@bytecodealliance/jco-transpile` that run without its dependencies: `wasm-tools` as a core module, and as
 * JavaScript with its core modules beside it; the generator of JavaScript in the same form.
 */
export type VendoredFile = "wasm-tools.core.wasm" | "wasm-tools.js" | "js-component-bindgen-component.js";

/**
 * Returns the path of a vendored file. The built package has these files in `dist/vendor`, so that the package is not
 * installed, of whose dependencies the optimiser alone takes 93 MB. In development they are in `node_modules`.
 *
 * @throws {PackageFileError} if it does not exist, as in a bundle.
 */
export function vendoredFile(name: VendoredFile): string {
  // The built package has this code in `dist/chunks`: scripts/build.ts.
  const own = import.meta.filename as string | undefined;
  const file =
    own !== undefined && extname(own) === ".ts"
      ? join(dirname(resolveDependency("@bytecodealliance/jco-transpile/component")), name)
      : join(own ?? "", "../../vendor", name);
  if (!existsSync(file)) throw new PackageFileError(name);
  return file;
}
