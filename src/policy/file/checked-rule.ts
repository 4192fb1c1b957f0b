import type { ConfigProblem } from "../../config/problem.ts";
import type { ConfigPath } from "../../config/source.ts";
import type { PolicyRule } from "../rule/rule.ts";
import type { PolicyTool } from "./policy-tool.ts";

/** A problem with a part of a rule. */
export interface ConditionProblem {
  /** The path from the rule. */
  readonly path: ConfigPath;
  readonly message: string;
  readonly severity: ConfigProblem["severity"];
  readonly at: "key" | "value";
}

/** The rule whose conditions are checked. */
export interface CheckedRule {
  /** A rule that denies or asks and never matches is open, which is an error; one that allows is of no use. */
  readonly effect: PolicyRule["effect"];
  /** The tools that it concerns. */
  readonly tools: readonly PolicyTool[];
  /** Whether the rule names a tool, and not only a wildcard or tag that matches it. */
  readonly isNamed: (tool: PolicyTool) => boolean;
}
