import type { ToolRegistry } from "../engine/registry.ts";
import { compileNamePattern } from "../policy/match/name-pattern.ts";
import type { SessionInfo, ToolTraits } from "../tool/tool-traits.ts";

/** The tag of tools that keep what an agent learns. A worker has no such tools. */
const MEMORY_TAG = "memory";

/**
 * Returns a view of a registry with only the tools that a session can see. To its calls, the others do not exist.
 *
 * @param tools Patterns of names, one of which must match. Default: any name.
 */
export function visibleTools(
  registry: ToolRegistry<never>,
  session: SessionInfo,
  tools: readonly string[] | undefined,
): ToolRegistry<never> {
  const patterns = tools?.map(compileNamePattern);
  return registry.view((tool) => {
    if (patterns !== undefined && !patterns.some((pattern) => pattern.matches(tool.name))) return false;
    if (session.kind === "worker" && tool.tags?.includes(MEMORY_TAG)) return false;
    return tool.visibleTo === undefined || isShown(tool.visibleTo, session);
  });
}

/** A tool that cannot say so is not visible. */
function isShown(visibleTo: NonNullable<ToolTraits["visibleTo"]>, session: SessionInfo): boolean {
  try {
    return visibleTo(session) === true;
  } catch {
    return false;
  }
}
