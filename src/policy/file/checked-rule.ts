import type { ConfigProblem } from "../../config/problem.ts";
import type { ConfigPath } from "../../config/source.ts";
import type { JsonObject } from "../../json/value.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { ToolAccess } from "../../tool/tool-traits.ts";
import type { AllowedUse, PolicyRule } from "../rule/rule.ts";

/** The rules of a policy file, and their positions, for checks that need more than the file. */
export interface LocatedPolicy {
  readonly rules: readonly PolicyRule[];
  readonly default: "deny" | AllowedUse;
  /**
   * A problem with a part of the policy.
   *
   * @param path The path from the policy. Limits have the names that they have in a file.
   */
  problem(path: ConfigPath, message: string, severity: ConfigProblem["severity"]): ConfigProblem;
}

/** A registered tool, as far as rules are checked against it. */
export interface PolicyTool {
  readonly name: string;
  readonly inputSchema: JsonObject;
  /** The JSON Schema of the output. Default: any output. */
  readonly outputSchema?: JsonObject;
  /** The sandboxes in which the tool has an implementation. */
  readonly sandboxes: readonly SandboxMode[];
  /** Default: `"destructive"`, as in a registry. */
  readonly sideEffects?: SideEffects;
  /** Default: none. */
  readonly tags?: readonly string[];
  /** What the tool says of the files and servers that its calls use. Default: nothing. */
  readonly access?: ToolAccess;
  /** Whether it works on the files of its grant, if it runs on the host. Default: `false`. */
  readonly usesFiles?: boolean;
}

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
