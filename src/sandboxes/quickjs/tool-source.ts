import { createHash } from "node:crypto";
import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { formatBytes } from "../../base/units.ts";
import type { QuickJsImplementation } from "../../tool/implementations/implementations.ts";
import { ToolPreparationError } from "../contract/sandbox.ts";
import { mapFileBeside } from "./source-maps.ts";
import type { GuestProgram } from "./thread/guest-program.ts";

/** How many files a tool may have, and the maximum size of each and of all of them: a bundle is a single file. */
const MAX_FILES = 64;
const MAX_FILE_BYTES = 4 * 1_024 * 1_024;
const MAX_BYTES = 8 * 1_024 * 1_024;

/** The maximum size of a source map beside a module, and of all of them. Larger ones are ignored. */
const MAX_MAP_BYTES = 4 * 1_024 * 1_024;
const MAX_ALL_MAP_BYTES = 8 * 1_024 * 1_024;

/** The name of an inline source in stacks. */
const INLINE_NAME = "tool.js";

const MODULE_NAME = /\.(?:js|mjs|ts|mts)$/;

let filesOpened = 0;

/** A tool's modules, read when the engine needs them. Nothing outside the tool's folder is read, not even by links. */
export class ToolSource {
  /** The real path of the tool's folder; `undefined` for an inline source. */
  readonly #folder: string | undefined;
  readonly #entry: string;
  readonly #exportName: string;
  readonly #sources = new Map<string, string>();
  readonly #aliases = new Map<string, string>();
  readonly #maps = new Map<string, string>();
  /** Identifies it among all tools: the digest of an inline source, or a number for each opened file. */
  readonly key: string;
  #bytes = 0;
  #mapBytes = 0;

  /** @throws {ToolPreparationError} if the module cannot be read. */
  static async open(implementation: QuickJsImplementation): Promise<ToolSource> {
    const { export: exportName = "default" } = implementation;
    if ("source" in implementation) {
      const digest = createHash("sha256").update(implementation.source).digest("base64");
      const inline = new ToolSource(undefined, INLINE_NAME, exportName, `${digest} ${exportName}`);
      inline.#add(INLINE_NAME, implementation.source);
      return inline;
    }
    const { file } = implementation;
    const path = file instanceof URL || file.startsWith("file:") ? fileURLToPath(file) : file;
    const folder = await realpath(dirname(path)).catch((error: unknown) => {
      throw new ToolPreparationError(`the module cannot be read: ${describe(error)}`);
    });
    const opened = new ToolSource(folder, basename(path), exportName, `file ${++filesOpened}`);
    await opened.read(basename(path));
    return opened;
  }

  private constructor(folder: string | undefined, entry: string, exportName: string, key: string) {
    this.key = key;
    this.#folder = folder;
    this.#entry = entry;
    this.#exportName = exportName;
  }

  /** Whether a module is the one that exports the tool. */
  isEntry(name: string): boolean {
    return name === this.#entry;
  }

  /** The modules that were read so far. TypeScript still has its types. */
  get program(): GuestProgram {
    const sources = Object.fromEntries(this.#sources);
    const maps = Object.fromEntries(this.#maps);
    return { entry: this.#entry, sources, aliases: this.#aliases, maps, exportName: this.#exportName };
  }

  /**
   * Reads a module of the folder. A `.js` file that does not exist is read from the `.ts` file of the same name, and
   * `.mjs` from `.mts`, as TypeScript resolves imports.
   *
   * @param name The path in the folder. Untrusted.
   * @throws {ToolPreparationError} if the module is outside the folder, cannot be read, is too large or has another
   *   type.
   */
  async read(name: string): Promise<void> {
    if (this.#folder === undefined) {
      throw new ToolPreparationError(`'${name}' cannot be imported: an inline source cannot import modules`);
    }
    if (this.#sources.has(name) || this.#aliases.has(name)) return;
    if (!MODULE_NAME.test(name)) {
      throw new ToolPreparationError(
        `'${name}' is not a module: its name must end in .js, .mjs, .ts or .mts`,
      );
    }
    try {
      await this.#addWithMap(this.#folder, name, await readInside(this.#folder, name));
    } catch (error) {
      const typed = name.replace(/\.(m?)js$/, ".$1ts");
      if (typed === name || !(error instanceof MissingFileError)) throw error;
      if (!this.#sources.has(typed)) {
        const source = await readInside(this.#folder, typed).catch(() => {
          throw error;
        });
        await this.#addWithMap(this.#folder, typed, source);
      }
      this.#aliases.set(name, typed);
    }
  }

  /** Adds a module, and its source map if that is a file beside it. A map that cannot be read is ignored. */
  async #addWithMap(folder: string, name: string, source: string): Promise<void> {
    this.#add(name, source);
    const file = mapFileBeside(source);
    if (file === undefined) return;
    const map = await readInside(folder, posix.join(posix.dirname(name), file), MAX_MAP_BYTES).catch(
      () => "",
    );
    this.#mapBytes += Buffer.byteLength(map);
    if (map !== "" && this.#mapBytes <= MAX_ALL_MAP_BYTES) this.#maps.set(name, map);
  }

  #add(name: string, source: string): void {
    this.#bytes += Buffer.byteLength(source);
    if (this.#sources.size >= MAX_FILES)
      throw new ToolPreparationError(`the tool has more than ${MAX_FILES} modules`);
    if (this.#bytes > MAX_BYTES) throw new ToolPreparationError("the modules are larger than 8 MiB in total");
    this.#sources.set(name, source);
  }
}

async function readInside(folder: string, name: string, maxBytes = MAX_FILE_BYTES): Promise<string> {
  try {
    const path = await realpath(join(folder, name));
    if (!path.startsWith(folder.endsWith(sep) ? folder : folder + sep)) {
      throw new ToolPreparationError(`'${name}' is a link to a file outside the tool's folder`);
    }
    const { size } = await stat(path);
    if (size > maxBytes) throw new ToolPreparationError(`'${name}' is larger than ${formatBytes(maxBytes)}`);
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof ToolPreparationError) throw error;
    const message = `'${name}' cannot be read: ${describe(error)}`;
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw new MissingFileError(message);
    throw new ToolPreparationError(message);
  }
}

/** A file that does not exist. */
class MissingFileError extends ToolPreparationError {}

/** Describes why a file cannot be read, without its path, which must not leave this host. */
function describe(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
