import { type OptionNames, refuseUnknown } from "../base/options.ts";
import type { DuplicateKeys } from "../json/duplicate-keys.ts";
import type { JsonObject } from "../json/value.ts";
import { type ArgumentRules, argumentRuleProblems } from "../schema/argument-rules.ts";

/**
 * Which definitions of tools a person approved. A registry with pins offers no other tool to a model, and a call of
 * another one is denied.
 */
export interface DefinitionPins {
  /**
   * Returns whether this is the definition of the tool that was approved. Called for each look-up, so it must be quick. Must
   * not throw.
   *
   * @param definition The definition that is registered now. Its digest is computed when it is first read.
   */
  isApproved(name: string, definition: { readonly digest: string }): boolean;
  /** Returns the definition of the tool that was approved, so that a change can be shown. Default: it is not known. */
  approvedDefinition?(name: string): JsonObject | undefined;
}

const NAMES: OptionNames<ToolRegistryOptions> = {
  nullForOptional: true,
  coerce: true,
  schemas: true,
  duplicateKeys: true,
  requireSideEffects: true,
  pins: true,
};

/** Options of `ToolRegistry`. The argument rules are defaults for its tools. */
export interface ToolRegistryOptions extends ArgumentRules {
  /**
   * Trusted schemas, by URI, that the tools' schemas may refer to. Nothing is ever fetched. Default: none.
   */
  readonly schemas?: Readonly<Record<string, JsonObject>>;
  /**
   * How to treat arguments, as JSON text, in which an object has several members of one name. What looked at the text
   * before may have read another one of them. Default: `"refuse"`; `"last"`: the last one counts, as in ECMAScript.
   */
  readonly duplicateKeys?: DuplicateKeys;
  /** Whether to refuse a tool that does not declare `sideEffects`. Default: `false`; it counts as `"destructive"`. */
  readonly requireSideEffects?: boolean;
  /** Which definitions were approved. Default: all of them. */
  readonly pins?: DefinitionPins;
}

/** @throws {TypeError} if an option is invalid. */
export function checkRegistryOptions(options: ToolRegistryOptions): void {
  refuseUnknown(options, NAMES, "a ToolRegistry");
  const [problem] = argumentRuleProblems(options);
  if (problem !== undefined) throw new TypeError(problem);
  const { duplicateKeys } = options;
  if (duplicateKeys !== undefined && duplicateKeys !== "refuse" && duplicateKeys !== "last") {
    throw new TypeError('duplicateKeys must be "refuse" or "last"');
  }
}
