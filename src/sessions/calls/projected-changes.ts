import type { ConfirmationRequest } from "../../engine/call/confirmation.ts";
import type { JsonValue } from "../../json/value.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { toLine } from "../../rendering/shown.ts";
import type { ToolTraits } from "../../tool/tool-traits.ts";

const MAX_CHANGES = 100;

/**
 * Returns the paths that a call would change, each as one line that can be shown: those that the tool projects, or else
 * those that it declares as written, as they lead in the workspace. A tool can say anything.
 */
export function projectedChanges(
  traits: ToolTraits,
  { input, paths = [] }: Pick<ConfirmationRequest, "input" | "paths">,
  redaction: Redaction,
): readonly string[] {
  const found: readonly unknown[] =
    traits.projectChanges === undefined
      ? paths.filter(({ access }) => access === "write").map(({ path }) => path)
      : projected(traits, input);
  return found
    .filter((path) => typeof path === "string")
    .slice(0, MAX_CHANGES)
    .map((path) => toLine(redaction.text(path)));
}

/** A function that fails does not keep a person from being asked. */
function projected({ projectChanges }: ToolTraits, input: JsonValue): readonly unknown[] {
  try {
    const paths: unknown = projectChanges?.(input as never);
    return Array.isArray(paths) ? paths : [];
  } catch {
    return [];
  }
}
