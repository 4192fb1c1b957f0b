import type { JsonObject } from "../json/value.ts";

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
