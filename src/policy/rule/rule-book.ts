import type { CompiledRule } from "./compiled-rule.ts";
import type { MatchedTool, RuleMatcher } from "./rule-matcher.ts";

/** Finds the rules for a tool by its name and tags. Only rules with wildcards are compared with every tool. */
export class RuleBook {
  readonly #byName = new Map<string, Placed[]>();
  readonly #byTag = new Map<string, Placed[]>();
  readonly #others: Placed[] = [];

  /** @param rules In the order of the policy. */
  constructor(rules: readonly CompiledRule[]) {
    for (const [place, rule] of rules.entries()) {
      for (const list of this.#listsOf(rule.matcher)) list.push({ rule, place });
    }
  }

  /** The rules that name the tool, in the order of the policy. Its side effects or tags can still rule them out. */
  find(tool: MatchedTool): readonly CompiledRule[] {
    const byTag = (tool.tags ?? []).flatMap((tag) => this.#byTag.get(tag) ?? []);
    const found = new Map<number, CompiledRule>();
    for (const { place, rule } of [...(this.#byName.get(tool.name) ?? []), ...byTag, ...this.#others]) {
      if (rule.matcher.names(tool)) found.set(place, rule);
    }
    return [...found].sort(([a], [b]) => a - b).map(([, rule]) => rule);
  }

  #listsOf({ toolNames, tags }: RuleMatcher): readonly Placed[][] {
    if (toolNames === "all") return [...new Set(tags)].map((tag) => listOf(this.#byTag, tag));
    if (toolNames === "wildcards") return [this.#others];
    return [...new Set(toolNames)].map((name) => listOf(this.#byName, name));
  }
}

interface Placed {
  readonly rule: CompiledRule;
  readonly place: number;
}

function listOf(lists: Map<string, Placed[]>, key: string): Placed[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
