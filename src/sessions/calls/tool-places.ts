import type { ToolRegistry } from "../../engine/registry.ts";
import type { Settings } from "../options.ts";

/** Returns how many calls of a tool a session may run at once; `Infinity` if there is no limit. */
export function toolPlaces(
  registry: Pick<ToolRegistry, "find">,
  { perTool }: Pick<Settings, "perTool">,
  name: string,
): number {
  const own = registry.find(name)?.tool.maxConcurrent ?? Number.POSITIVE_INFINITY;
  return perTool.size === 0 ? own : Math.min(own, perTool.get(name) ?? own);
}
