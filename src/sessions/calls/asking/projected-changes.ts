import type { ConfirmationRequest } from "../../../engine/call/confirmation.ts";
import type { Redaction } from "../../../redaction/redaction.ts";
import { toLine } from "../../../rendering/shown.ts";
import type { ToolTraits } from "../../../tool/tool-traits.ts";

const MAX_CHANGES = 100;

/** Stands for what a tool could not say, so that the list does not seem complete. */
const UNKNOWN = "(the tool could not say what it would change)";

/** What {@link projectedChanges} needs of the session. */
interface Place {
  readonly redaction: Redaction;
  readonly workspace: string | undefined;
  readonly settings: { readonly context: { readonly embedder?: unknown } };
}

/**
 * Returns what a call would change, each as one line that can be shown: what the tool projects, or else the paths that it
 * declares as written, as they lead in the workspace. A tool can say anything.
 */
export function projectedChanges(
  traits: ToolTraits,
  request: ConfirmationRequest,
  { redaction, workspace, settings }: Place,
): readonly string[] {
  const { paths = [] } = request;
  const declared = paths.filter(({ access }) => access === "write").map(({ path }) => path);
  const found: readonly unknown[] =
    traits.projectChanges === undefined
      ? declared
      : (projected(traits, request, { workspace, embedder: settings.context.embedder }) ?? [
          UNKNOWN,
          ...declared,
        ]);
  return found
    .filter((path) => typeof path === "string")
    .slice(0, MAX_CHANGES)
    .map((path) => toLine(redaction.text(path)));
}

/** Returns `undefined` if the function fails, which does not keep a person from being asked. */
function projected(
  { projectChanges }: ToolTraits,
  { callId, sessionId, tool, turnId, principal, input }: ConfirmationRequest,
  place: { readonly workspace: string | undefined; readonly embedder: unknown },
): readonly unknown[] | undefined {
  const context = Object.freeze({ callId, sessionId, toolName: tool.name, turnId, principal, ...place });
  try {
    const changes: unknown = projectChanges?.(input as never, context);
    return Array.isArray(changes) ? changes : undefined;
  } catch {
    return undefined;
  }
}
