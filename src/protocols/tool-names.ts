import type { ToolRegistry } from "../engine/registry.ts";

/** Names that every provider accepts. OpenAI and Anthropic limit the characters, Google the first one. */
const FITTING = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const UNFITTING_CHARACTERS = /[^A-Za-z0-9_-]/gu;
const MAX_LENGTH = 64;

/**
 * Maps the names of a registry's tools to aliases that providers accept. A valid name is its own alias. Any other name
 * gets a unique alias, which depends on the set of names and not on their order. An alias never changes its meaning,
 * even if other tools are registered later.
 */
export class ToolNames {
  readonly #registry: Pick<ToolRegistry<never>, "names">;
  readonly #fitting: RegExp;
  readonly #aliases = new Map<string, string>();
  readonly #names = new Map<string, string>();

  /** @param fitting Matches the names that need no alias. Default: those that every provider accepts. */
  constructor(registry: Pick<ToolRegistry<never>, "names">, fitting: RegExp = FITTING) {
    this.#registry = registry;
    this.#fitting = fitting;
    this.refresh();
  }

  /** Adds aliases for the tools that were registered since the last call. */
  refresh(): void {
    const fresh = this.#registry.names.filter((name) => !this.#aliases.has(name)).sort();
    // Valid names come first, so that none of them is taken by another tool's alias.
    for (const name of fresh) {
      if (this.#fitting.test(name) && !this.#names.has(name)) this.#give(name, name);
    }
    const others = fresh.filter((name) => !this.#aliases.has(name));
    const sharing = Map.groupBy(others, toFitting);
    for (const name of others) {
      const alias = toFitting(name);
      const isShared = (sharing.get(alias)?.length ?? 0) > 1;
      this.#give(name, isShared || this.#names.has(alias) ? this.#distinct(name) : alias);
    }
  }

  /** Returns the alias of a name. A name that is not registered is made valid. */
  toAlias(name: string): string {
    return this.#aliases.get(name) ?? (this.#fitting.test(name) ? name : toFitting(name));
  }

  /** Returns the registered name of an alias; any other text is returned as it is. */
  toName(alias: string): string {
    return this.#names.get(alias) ?? alias;
  }

  #give(name: string, alias: string): void {
    this.#aliases.set(name, alias);
    this.#names.set(alias, name);
  }

  /** Returns an alias that ends in a digest of the name, as long as necessary to be unique. */
  #distinct(name: string): string {
    // Loaded on use: it takes longer to load than this package.
    const { hash } = process.getBuiltinModule("node:crypto");
    const digest = hash("sha256", name);
    for (let length = 8; ; length += 4) {
      const ending = `_${digest.slice(0, length)}`;
      const alias = toFitting(name).slice(0, MAX_LENGTH - ending.length) + ending;
      // Using the whole digest would take a collision of SHA-256.
      if (!this.#names.has(alias) || length >= digest.length) return alias;
    }
  }
}

function toFitting(name: string): string {
  const clean = name.replace(UNFITTING_CHARACTERS, "_").slice(0, MAX_LENGTH);
  return FITTING.test(clean) ? clean : `_${clean}`.slice(0, MAX_LENGTH);
}
