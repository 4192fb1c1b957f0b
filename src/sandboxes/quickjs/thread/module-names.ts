import { posix } from "node:path";
import type { GuestProgram } from "./guest.ts";

/** What the modules of a tool call each other: paths in the tool's folder. */
export class ModuleNames {
  readonly #sources: GuestProgram["sources"];
  readonly #problems = new Map<string, string>();
  readonly #importers = new Map<string, string>();

  constructor(sources: GuestProgram["sources"]) {
    this.#sources = sources;
  }

  /** The source of a module; `undefined` when the program does not have it yet. */
  source(name: string): string | undefined {
    return Object.hasOwn(this.#sources, name) ? this.#sources[name] : undefined;
  }

  /**
   * The name of what a module imports: a path, or what stands for a refusal. The engine asks for names without
   * hearing of errors, and then for what bears the name: see {@link problem}.
   */
  resolve(importer: string, specifier: string): string {
    if (!/^\.\.?\//.test(specifier)) return this.#refuse(importer, specifier, NOT_RELATIVE);
    const name = posix.join(posix.dirname(importer), specifier);
    if (/^\.\.(?:\/|$)|\\/.test(name)) return this.#refuse(importer, specifier, OUTSIDE);
    if (!this.#importers.has(name)) this.#importers.set(name, importer);
    return name;
  }

  /** The module that imported the module of a name first. */
  importer(name: string): string | undefined {
    return this.#importers.get(name);
  }

  /** Why what bears a name cannot be imported; `undefined` when it can. */
  problem(name: string): string | undefined {
    return this.#problems.get(name);
  }

  #refuse(importer: string, specifier: string, why: string): string {
    const name = `refused:${specifier}`;
    this.#problems.set(name, `${importer}: '${specifier}' cannot be imported: ${why}`);
    return name;
  }
}

const NOT_RELATIVE = "a tool imports only relative files of its folder";
const OUTSIDE = "it is outside the tool's folder";
