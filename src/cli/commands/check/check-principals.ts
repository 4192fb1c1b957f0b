import type { ConfigProblem } from "../../../config/problem.ts";
import { DEFAULT_TOKEN_NAME, LOCAL_ID } from "../../../executor/http/authentication.ts";
import type { LocatedPolicy } from "../../../policy/file/located-policy.ts";
import { compileNamePattern } from "../../../policy/match/name-pattern.ts";
import type { ServerConfig } from "../../config/server/load-server.ts";

/** Returns the ids of all principals that a server authenticates. */
export function principalIds({
  keys = new Map(),
  token,
  tokenName = DEFAULT_TOKEN_NAME,
  listen,
}: ServerConfig["options"]): readonly string[] {
  const ids = [...keys.keys(), ...(token === undefined ? [] : [tokenName])];
  return ids.length === 0 && listen.startsWith("unix:") ? [LOCAL_ID] : ids;
}

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
        const message = `no key or token of the server has the id '${pattern}'`;
        return [policy.problem(["rules", rule, "principals", index], message, "warning")];
      }),
    ),
  );
}
