import type { ConfigProblem } from "../../config/problem.ts";
import type { ConfigPath } from "../../config/source.ts";
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
