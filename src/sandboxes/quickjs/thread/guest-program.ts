import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { shorten } from "../../contract/failure.ts";

/** The modules of a tool. */
export interface GuestProgram {
  /** The name of the module that exports the tool. */
  readonly entry: string;
  /** The sources by name. Names are paths relative to the tool's folder, with `/` as the separator. */
  readonly sources: Readonly<Record<string, string>>;
  /** The modules that are imported by another name: `lib.ts` as `lib.js`. */
  readonly aliases?: ReadonlyMap<string, string>;
  /** The source maps that are files beside modules, by the modules' names. Untrusted. */
  readonly maps?: Readonly<Record<string, string>>;
  /** The name of the exported function. */
  readonly exportName: string;
}

/** Returns the path of an imported module in the tool's folder; `undefined` if there is an {@link importProblem}. */
export function importedName(importer: string, specifier: string): string | undefined {
  const name = posix.join(posix.dirname(importer), specifier);
  return importProblem(importer, specifier) === undefined ? name : undefined;
}

/** Returns why a module cannot be imported by its name, and what to do; `undefined` if it can, if it exists. */
export function importProblem(importer: string, specifier: string): string | undefined {
  if (specifier.length > MAX_NAME_LENGTH) return TOO_LONG;
  if (!/^\.\.?\//.test(specifier)) {
    if (isBuiltin(specifier)) return NO_BUILTINS;
    return /^[a-z][a-z0-9+.-]*:|^\//i.test(specifier) ? NOT_RELATIVE : NO_PACKAGES;
  }
  const name = posix.join(posix.dirname(importer), specifier);
  return /^\.\.(?:\/|$)|\\/.test(name) ? OUTSIDE : undefined;
}

/** Resolves the names of a tool's modules: paths relative to the tool's folder. */
export class ModuleNames {
  readonly #sources: GuestProgram["sources"];
  readonly #aliases: ReadonlyMap<string, string>;
  readonly #problems = new Map<string, string>();
  readonly #importers = new Map<string, string>();

  constructor({ sources, aliases = new Map() }: Pick<GuestProgram, "sources" | "aliases">) {
    this.#sources = sources;
    this.#aliases = aliases;
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
    const problem = importProblem(importer, specifier);
    if (problem !== undefined) return this.#refuse(importer, specifier, problem);
    const joined = posix.join(posix.dirname(importer), specifier);
    const name = this.#aliases.get(joined) ?? joined;
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
    const shown = specifier.length > MAX_NAME_LENGTH ? shorten(specifier, 64) : specifier;
    const name = this.#problems.size < MAX_NAMES ? `refused:${shown}` : "refused";
    this.#problems.set(name, `${importer}: '${shown}' cannot be imported: ${why}`);
    return name;
  }
}

/** The longest name of a module, in characters: the longest path on Linux. */
const MAX_NAME_LENGTH = 4_096;

/** Maximum number of names that are remembered for error messages. A tool has at most 64 modules. */
const MAX_NAMES = 1_024;

const TOO_LONG = "its name is too long";
const NOT_RELATIVE = "a tool can import only relative paths in its folder";
const NO_BUILTINS =
  "the sandbox has no modules of Node.js; use the sandbox's globals and the tool's context, or bundle a package that does it";
const NO_PACKAGES =
  "the sandbox has no packages; bundle it into the tool's file, for example with 'esbuild tool.js --bundle --format=esm'";
const OUTSIDE = "it is outside the tool's folder";
