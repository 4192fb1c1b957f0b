import type { ToolRegistry } from "../../engine/registry.ts";
import type { JsonObject } from "../../json/value.ts";
import { ArgumentNames } from "./argument-names.ts";
import type { SchemaDemands } from "./demands.ts";
import { fitSchema, UnofferableSchema } from "./fit-schema.ts";

/** How a tool is offered to a provider. */
export interface ToolFit {
  /** Absent if the provider accepts no schema that says what the tool takes. */
  readonly schema?: JsonObject;
  /** Why there is none. */
  readonly reason?: string;
  /** Rules for the tool's description, which the schema has lost. */
  readonly rules: string;
  readonly lacksRules: boolean;
  readonly names: ArgumentNames;
}

/**
 * Fits the schemas of a registry's tools to what a provider demands. That depends only on the tool's schema, so that another
 * protocol of this provider, such as one in another process, reads the arguments in the same way.
 */
export class ToolFits {
  readonly #registry: ToolRegistry<never>;
  readonly #demands: SchemaDemands | undefined;
  readonly #fits = new Map<string, { readonly of: JsonObject; readonly fit: ToolFit }>();

  /** @param demands Absent if the provider accepts every schema. */
  constructor(registry: ToolRegistry<never>, demands: SchemaDemands | undefined) {
    this.#registry = registry;
    this.#demands = demands;
  }

  /** Returns how a tool is offered; `undefined` if it is not registered, or offered as it is. */
  of(name: string): ToolFit | undefined {
    if (this.#demands === undefined || !this.#registry.has(name)) return undefined;
    const { inputSchema, freeform } = this.#registry.get(name);
    if (freeform) return undefined;
    const schema = inputSchema as JsonObject;
    const known = this.#fits.get(name);
    if (known?.of === schema) return known.fit;
    const fit = fitTool(schema, this.#demands);
    this.#fits.set(name, { of: schema, fit });
    return fit;
  }
}

function fitTool(schema: JsonObject, demands: SchemaDemands): ToolFit {
  try {
    const fitted = fitSchema(schema, demands);
    const names = new ArgumentNames(demands.propertyNames, fitted.isWrapped);
    return { ...fitted, schema: names.rename(fitted.schema), names };
  } catch (error) {
    if (!(error instanceof UnofferableSchema)) throw error;
    const names = new ArgumentNames(demands.propertyNames, false);
    return { reason: error.message, rules: "", lacksRules: false, names };
  }
}
