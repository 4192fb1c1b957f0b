import type { DefinitionPins } from "../../engine/definition-pins.ts";
import type { RegisteredTool } from "../../engine/registered-tool.ts";
import { changedValues } from "../../pins/compare-definitions.ts";
import { showChanges } from "../../pins/show-changes.ts";
import type { Redaction } from "../../redaction/redaction.ts";

/** Whether the definition of a tool is the one that was approved. */
export interface ShownPin {
  /** `none` if nothing is pinned, `new` if no definition of the tool was approved. */
  readonly state: "pinned" | "changed" | "new" | "none";
  /** What changed: the approved value above the current one. With `changed`. */
  readonly diff?: string;
}

/** The most characters of a difference. */
const MAX_CHARS = 100_000;

/** Compares the definition of a tool with the approved one. Neither is trusted. */
export function pinOf(
  { tool: { name }, definition }: RegisteredTool<never>,
  pins: DefinitionPins | undefined,
  redaction: Redaction,
): ShownPin {
  if (pins === undefined) return { state: "none" };
  if (pins.isApproved(name, definition)) return { state: "pinned" };
  const approved = pins.approvedDefinition?.(name);
  if (approved === undefined) return { state: "new" };
  const values = changedValues(redaction.json(approved), redaction.json(definition.describe()));
  const { text } = showChanges([{ kind: "tools", name, change: "changed", values }]);
  return { state: "changed", diff: text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text };
}
