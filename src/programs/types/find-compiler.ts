import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { resolveDependency } from "../../base/package/resolve-dependency.ts";

const FIRST_VERSION = 7;

/**
 * Returns the real path of the native compiler of the peer dependency `typescript`.
 *
 * @throws {TypeError} if it is not installed, or older than version 7, which is the first one with a native compiler.
 */
export function findCompiler(): string {
  const install = "typeCheck needs TypeScript 7 or later: npm install typescript@7";
  let manifest: string;
  try {
    manifest = resolveDependency("typescript/package.json");
  } catch (cause) {
    throw new TypeError(`${install}. It is not installed`, { cause });
  }
  const require = createRequire(manifest);
  const { version } = require(manifest) as { readonly version: string };
  if (Number.parseInt(version, 10) < FIRST_VERSION)
    throw new TypeError(`${install}. Version ${version} is installed`);
  const native = `@typescript/typescript-${process.platform}-${process.arch}`;
  try {
    return realpathSync(join(dirname(require.resolve(`${native}/package.json`)), "lib/tsc"));
  } catch (cause) {
    throw new TypeError(`${install}. Its package for this platform, ${native}, is not installed`, { cause });
  }
}
