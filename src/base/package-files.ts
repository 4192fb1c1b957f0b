import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { SandgateError } from "./thrown.ts";

/**
 * Thrown if a file of this package, or of a package that it depends on, is not where its code expects it. Threads, child
 * processes and WebAssembly load such files by their paths. A bundler moves the code and leaves these files behind.
 */
export class PackageFileError extends SandgateError {
  override readonly name = "PackageFileError";
  override readonly code = "package_file_missing";

  /** @param file Which file was not found, without the folders of this machine. */
  constructor(file: string, options?: ErrorOptions) {
    super(
      `Sandgate cannot find its file '${file}'. If a bundler moved Sandgate's code, mark 'sandgate' as external and ` +
        "install it where the program runs; otherwise, reinstall it",
      options,
    );
  }
}

/** The file of this code. A bundle of CommonJS leaves it undefined. */
const OWN_FILE = import.meta.filename as string | undefined;

/**
 * Returns the path of the entry module of a thread or a child process. In development this is the `.ts` file in `src`,
 * in the built package the `.js` file at the same place in `dist`.
 *
 * @param path The path from `src`, without the extension.
 * @throws {PackageFileError} if the file does not exist, as in a bundle.
 */
export function entryFile(path: string): string {
  if (OWN_FILE === undefined) throw new PackageFileError(path);
  // The built package has this code in `dist/chunks`, which is as deep as this folder: scripts/build.ts.
  const file = join(OWN_FILE, "../..", path + extname(OWN_FILE));
  if (!existsSync(file)) throw new PackageFileError(path);
  return file;
}

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
