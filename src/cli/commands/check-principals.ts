import type { ConfigProblem } from "../../config/problem.ts";
import type { LocatedPolicy } from "../../policy/file/located-policy.ts";
import { compileNamePattern } from "../../policy/match/name-pattern.ts";

/**
 * Finds principals of rules that no caller of the server can be.
 *
 * @param ids The ids of all principals that the server authenticates.
 */
export function checkPrincipals(
  policies: readonly LocatedPolicy[],
  ids: readonly string[],
): readonly ConfigProblem[] {
  return policies.flatMap((policy) =>
    policy.rules.flatMap(({ principals = [] }, rule) =>
      principals.flatMap((pattern, index) => {
        const { matches } = compileNamePattern(pattern);
        if (ids.some((id) => matches(id))) return [];
        const message = `no key of the server has the id '${pattern}'`;
        return [policy.problem(["rules", rule, "principals", index], message, "warning")];
      }),
    ),
  );
}
