import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigPath } from "../../../config/source.ts";
import type { LocatedPolicy } from "../../../policy/file/located-policy.ts";
import { type AllowedUse, usedBy } from "../../../policy/rule/rule.ts";

/** Finds grants of the session's workspace, for configs under which no session has one. */
export function checkWorkspaces(policies: readonly LocatedPolicy[]): readonly ConfigProblem[] {
  return policies.flatMap((policy) => {
    const { default: byDefault } = policy;
    return [
      ...policy.rules.flatMap((rule, index) => problemsOf(policy, ["rules", index], usedBy(rule))),
      ...problemsOf(policy, ["default"], byDefault === "deny" ? undefined : byDefault),
    ];
  });
}

function problemsOf(
  policy: LocatedPolicy,
  path: ConfigPath,
  use: AllowedUse | undefined,
): readonly ConfigProblem[] {
  const { fs = [] } = use?.capabilities ?? {};
  return fs.flatMap((grant, index) => {
    if (!("workspace" in grant)) return [];
    const message = "nothing provides a workspace here, so calls that need this grant are denied";
    return [policy.problem([...path, "capabilities", "fs", index, "workspace"], message, "warning")];
  });
}
