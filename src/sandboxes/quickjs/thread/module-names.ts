import { posix } from "node:path";
import { shorten } from "../../contract/failure-text.ts";
import type { GuestProgram } from "../guest-program.ts";

/** Resolves the names of a tool's modules: paths relative to the tool's folder. */
export class ModuleNames {
  readonly #sources: GuestProgram["sources"];
  readonly #problems = new Map<string, string>();
  readonly #importers = new Map<string, string>();

  constructor(sources: GuestProgram["sources"]) {
    this.#sources = sources;
  }

  /** Returns the source of a module; `undefined` if the program does not contain it yet. */
  source(name: string): string | undefined {
    return Object.hasOwn(this.#sources, name) ? this.#sources[name] : undefined;
  }

  /**
   * Returns the name of an imported module: a path, or a placeholder if the import is refused. The engine ignores
   * errors while it resolves names, so the refusal is reported when the placeholder is loaded: see {@link problem}.
   */
  resolve(importer: string, specifier: string): string {
    if (specifier.length > MAX_NAME_LENGTH) return this.#refuse(importer, shorten(specifier, 64), TOO_LONG);
    if (!/^\.\.?\//.test(specifier)) return this.#refuse(importer, specifier, NOT_RELATIVE);
    const name = posix.join(posix.dirname(importer), specifier);
    if (/^\.\.(?:\/|$)|\\/.test(name)) return this.#refuse(importer, specifier, OUTSIDE);
    if (!this.#importers.has(name) && this.#importers.size < MAX_NAMES) this.#importers.set(name, importer);
    return name;
  }

  /** Returns the module that first imported a module. */
  importer(name: string): string | undefined {
    return this.#importers.get(name);
  }

  /** Returns why the import with this placeholder name was refused; `undefined` for other names. */
  problem(name: string): string | undefined {
    return this.#problems.get(name);
  }

  #refuse(importer: string, specifier: string, why: string): string {
    const name = this.#problems.size < MAX_NAMES ? `refused:${specifier}` : "refused";
    this.#problems.set(name, `${importer}: '${specifier}' cannot be imported: ${why}`);
    return name;
  }
}

/** The longest name of a module, in characters: the longest path on Linux. */
const MAX_NAME_LENGTH = 4_096;

/** The most names that are remembered for error messages. A tool has at most 64 modules. */
const MAX_NAMES = 1_024;

const TOO_LONG = "its name is too long";
const NOT_RELATIVE = "a tool can import only relative paths in its folder";
const OUTSIDE = "it is outside the tool's folder";
