import type { ToolCall } from "../engine/call/call.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import { readObjectInput, writeObjectInput } from "./freeform.ts";
import type { ToolNames } from "./tool-names.ts";
import type { TurnCall } from "./turn.ts";

/** Converts calls between a provider, which has aliases and may not have free-form tools, and the registry. */
export class CallMapper {
  readonly names: ToolNames;
  readonly #registry: ToolRegistry<never>;
  readonly #takesText: boolean;

  /** @param takesText Whether the provider has calls with a text that is not JSON. */
  constructor(registry: ToolRegistry<never>, names: ToolNames, takesText: boolean) {
    this.#registry = registry;
    this.names = names;
    this.#takesText = takesText;
  }

  /** Returns whether an alias is that of a free-form tool. */
  isFreeform(alias: string): boolean {
    return this.#isFreeform(this.names.toName(alias));
  }

  /** Converts a call of the provider. */
  fromProvider(call: TurnCall): TurnCall {
    const own = { ...call, name: this.names.toName(call.name) };
    return own.custom || !this.#isFreeform(own.name) ? own : readObjectInput(own);
  }

  /** Converts a call for the provider. */
  toProvider(call: ToolCall): TurnCall {
    const { custom }: TurnCall = call;
    const its = { ...call, name: this.names.toAlias(call.name) };
    if (custom && this.#takesText) return its;
    return custom || this.#isFreeform(call.name) ? writeObjectInput(its) : its;
  }

  #isFreeform(name: string): boolean {
    return this.#registry.has(name) && this.#registry.get(name).freeform === true;
  }
}
