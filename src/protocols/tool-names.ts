import type { ToolRegistry } from "../engine/registry.ts";

/** What every provider takes: OpenAI and Anthropic take the characters, Google wants no digit or dash first. */
const FITTING = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const UNFITTING_CHARACTERS = /[^A-Za-z0-9_-]/gu;
const MAX_LENGTH = 64;

/**
 * The names of a registry's tools as providers take them. A name that fits is its own alias; another gets one
 * that no other name has, which depends on the set of names and not on their order. An alias that was given
 * once never changes its meaning, whatever is registered later.
 */
export class ToolNames {
  readonly #registry: Pick<ToolRegistry, "names">;
  readonly #fitting: RegExp;
  readonly #aliases = new Map<string, string>();
  readonly #names = new Map<string, string>();

  /** @param fitting The names that need no alias. Default: those that every provider takes. */
  constructor(registry: Pick<ToolRegistry, "names">, fitting: RegExp = FITTING) {
    this.#registry = registry;
    this.#fitting = fitting;
    this.refresh();
  }

  /** Gives aliases to the tools that were registered meanwhile. */
  refresh(): void {
    const fresh = this.#registry.names.filter((name) => !this.#aliases.has(name)).sort();
    // Those that fit come first: none of them may lose its name to another's alias.
    for (const name of fresh) {
      if (this.#fitting.test(name) && !this.#names.has(name)) this.#give(name, name);
    }
    const others = fresh.filter((name) => !this.#aliases.has(name));
    const plain = others.map(toFitting);
    for (const [index, name] of others.entries()) {
      const alias = plain[index] ?? "";
      const isShared = plain.indexOf(alias) !== plain.lastIndexOf(alias);
      this.#give(name, isShared || this.#names.has(alias) ? this.#distinct(name) : alias);
    }
  }

  /** The name as a provider takes it. One that is not registered is made to fit all the same. */
  toAlias(name: string): string {
    return this.#aliases.get(name) ?? (this.#fitting.test(name) ? name : toFitting(name));
  }

  /** The registered name that a model means; one that is no alias stays as it is. */
  toName(alias: string): string {
    return this.#names.get(alias) ?? alias;
  }

  #give(name: string, alias: string): void {
    this.#aliases.set(name, alias);
    this.#names.set(alias, name);
  }

  /** An alias with a digest of the name: as much of it as it takes. */
  #distinct(name: string): string {
    // Loading it with this file would take longer than all of the package.
    const { hash } = process.getBuiltinModule("node:crypto");
    const digest = hash("sha256", name);
    for (let length = 8; ; length += 4) {
      const ending = `_${digest.slice(0, length)}`;
      const alias = toFitting(name).slice(0, MAX_LENGTH - ending.length) + ending;
      // Only whoever can find collisions of SHA-256 gets to the digest's end.
      if (!this.#names.has(alias) || length >= digest.length) return alias;
    }
  }
}

function toFitting(name: string): string {
  const clean = name.replace(UNFITTING_CHARACTERS, "_").slice(0, MAX_LENGTH);
  return FITTING.test(clean) ? clean : `_${clean}`.slice(0, MAX_LENGTH);
}
