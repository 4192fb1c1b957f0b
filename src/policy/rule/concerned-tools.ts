import type { SideEffects } from "../../tool/side-effects.ts";
import type { RuleMatch } from "./rule.ts";
import { RuleMatcher } from "./rule-matcher.ts";

/** A tool, as far as its name, tags and side effects can be matched. */
interface NamedTool {
  readonly name: string;
  readonly tags?: readonly string[];
  /** Default: `"destructive"`, as in a registry. */
  readonly sideEffects?: SideEffects;
}

/** Returns the tools that a rule concerns. Its conditions, which may be invalid, are left out. */
export function concernedTools<Tool extends NamedTool>(
  { tools: names, tags, sideEffects }: Pick<RuleMatch, "tools" | "tags" | "sideEffects">,
  tools: readonly Tool[],
): Tool[] {
  const parts = {
    ...(names && { tools: names }),
    ...(tags && { tags }),
    ...(sideEffects && { sideEffects }),
  };
  const matcher = new RuleMatcher(parts, Date.now);
  return tools.filter((tool) => matcher.concerns({ sideEffects: "destructive", ...tool }));
}
