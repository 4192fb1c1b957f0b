import type { ToolCall } from "../engine/call/call.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import type { ToolFits } from "./demands/tool-fits.ts";
import { readObjectInput, writeObjectInput } from "./freeform.ts";
import type { ToolNames } from "./tool-names.ts";
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
