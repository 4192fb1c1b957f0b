import { SandgateError } from "../sandgate-error.ts";

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
