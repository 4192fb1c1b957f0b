import type { ToolDefinitionDigest } from "./definition.ts";

/**
 * Which definitions of tools a person approved. A registry with pins offers no other tool to a model, and a call of
 * another one is denied.
 */
export interface DefinitionPins {
  /**
   * Returns whether this is the definition of the tool that was approved. Called for each look-up, so it must be quick. Must
   * not throw.
   */
  isApproved(name: string, definition: ToolDefinitionDigest): boolean;
}
