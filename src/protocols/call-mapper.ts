import type { ToolCall } from "../engine/call.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import type { ToolFits } from "./demands/tool-fits.ts";
import { readObjectInput, writeObjectInput } from "./freeform.ts";
import type { TurnCall } from "./turn.ts";

/** Converts calls between a provider, which has aliases and may not have free-form tools, and the registry. */
export class CallMapper {
  readonly names: ToolNames;
  readonly #registry: ToolRegistry<never>;
  readonly #fits: ToolFits;
  readonly #takesText: boolean;

  /** @param takesText Whether the provider has calls with a text that is not JSON. */
  constructor(registry: ToolRegistry<never>, names: ToolNames, fits: ToolFits, takesText: boolean) {
    this.#registry = registry;
    this.names = names;
    this.#fits = fits;
    this.#takesText = takesText;
  }

  /** Returns whether an alias is that of a free-form tool. */
  isFreeform(alias: string): boolean {
    return this.#isFreeform(this.names.toName(alias));
  }

  /** Converts a call of the provider. */
  fromProvider(call: TurnCall): TurnCall {
    const own = { ...call, name: this.names.toName(call.name) };
    if (own.custom) return own;
    if (this.#isFreeform(own.name)) return readObjectInput(own);
    const args = this.#fits.of(own.name)?.names.fromProvider(own.arguments) ?? own.arguments;
    return args === own.arguments ? own : { ...own, arguments: args };
  }

  /** Converts a call for the provider. */
  toProvider(call: ToolCall): TurnCall {
    const { custom }: TurnCall = call;
    const its = { ...call, name: this.names.toAlias(call.name) };
    if (custom && this.#takesText) return its;
    if (custom || this.#isFreeform(call.name)) return writeObjectInput(its);
    const args = this.#fits.of(call.name)?.names.toProvider(call.arguments) ?? call.arguments;
    return args === call.arguments ? its : { ...its, arguments: args };
  }

  #isFreeform(name: string): boolean {
    return this.#registry.has(name) && this.#registry.get(name).freeform === true;
  }
}

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
    // Valid names come first, so that no alias takes one of them.
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
