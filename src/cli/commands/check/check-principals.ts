import { TOKEN_ID_PREFIX } from "../../../access-tokens/token-principal.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import { DEFAULT_TOKEN_NAME, LOCAL_ID } from "../../../executor/http/authentication.ts";
import type { JsonObject } from "../../../json/value.ts";
import { principalProblems } from "../../../policy/file/condition-checks.ts";
import type { LocatedPolicy } from "../../../policy/file/located-policy.ts";
import { compileNamePattern } from "../../../policy/match/name-pattern.ts";
import type { ServerConfig } from "../../config/server/load-server.ts";

/** What access tokens give their principals; `undefined` if the server accepts none. */
type Tokens = NonNullable<NonNullable<ServerConfig["mcp"]>["oauth"]>["principal"];

/** The beginning of the roles that every access token gives for its scopes. */
const SCOPE = "scope:";

/** Returns the ids of all principals that a server authenticates by its own credentials. */
function principalIds({ options, served }: ServerConfig): readonly string[] {
  const { keys = new Map(), token, tokenName = DEFAULT_TOKEN_NAME, certificates = [], listen } = options;
  const callers = (served?.credentials ?? []).filter(({ roles }) =>
    roles.some((role) => role === "caller" || role === "client"),
  );
  const ids = [
    ...keys.keys(),
    ...(token === undefined ? [] : [tokenName]),
    ...[...certificates, ...callers].map(({ id }) => id),
  ];
  return ids.length === 0 && listen.startsWith("unix:") ? [LOCAL_ID] : ids;
}

/** Finds principals, roles and conditions of rules that no caller of the server meets. */
export function checkPrincipals(
  policies: readonly LocatedPolicy[],
  server: ServerConfig,
): readonly ConfigProblem[] {
  const ids = principalIds(server);
  const hasTokens = server.served !== undefined && server.mcp?.oauth !== undefined;
  const tokens = hasTokens ? (server.mcp?.oauth?.principal ?? {}) : undefined;
  const schema = principalSchema(ids, tokens);
  return policies.flatMap((policy) =>
    policy.rules.flatMap(({ principals = [], roles = [], when, effect }, rule) => [
      ...principals.flatMap((pattern, index) => {
        const { matches } = compileNamePattern(pattern);
        if (ids.some((id) => matches(id)) || (hasTokens && canBeToken(pattern))) return [];
        const message = `no key or token of the server has the id '${pattern}'`;
        return [policy.problem(["rules", rule, "principals", index], message, "warning")];
      }),
      ...roles.flatMap((role, index) => {
        const message = whyNoRole(role, tokens);
        if (message === undefined || /[*?]/.test(role)) return [];
        return [policy.problem(["rules", rule, "roles", index], message, "warning")];
      }),
      ...principalProblems(when, effect, schema).map(({ path, message }) =>
        policy.problem(["rules", rule, ...path], message, "warning"),
      ),
    ]),
  );
}

/** Whether a pattern may match the id of a principal with an access token. */
function canBeToken(pattern: string): boolean {
  return pattern.startsWith("*") || pattern.startsWith(TOKEN_ID_PREFIX.slice(0, pattern.indexOf("*")));
}

function whyNoRole(role: string, tokens: Tokens | undefined): string | undefined {
  if (tokens === undefined)
    return (
      `callers of the server have no roles, so that none has '${role}': name them by their ids ('principals'), or accept ` +
      "access tokens whose claim 'server.mcp.oauth.principal.roles' maps to roles"
    );
  if (role.startsWith(SCOPE) || tokens.roles !== undefined) return undefined;
  return (
    `access tokens only give roles that begin with '${SCOPE}', so that no caller has '${role}': map the claim with the roles ` +
    "('server.mcp.oauth.principal.roles')"
  );
}

/** The schema of all principals of a server. */
function principalSchema(ids: readonly string[], tokens: Tokens | undefined): JsonObject {
  const own = {
    type: "object",
    additionalProperties: false,
    properties: { id: { enum: ids }, kind: { const: "service" } },
  };
  if (tokens === undefined) return own;
  const mapped = Object.fromEntries(Object.keys(tokens?.attributes ?? {}).map((name) => [name, {}]));
  const attributes = {
    type: "object",
    additionalProperties: false,
    properties: { ...mapped, issuer: {}, scopes: {}, clientId: { type: "string" } },
  };
  const role = { type: "string", ...(tokens.roles === undefined && { pattern: `^${SCOPE}` }) };
  const ofToken = {
    type: "object",
    additionalProperties: false,
    properties: {
      id: { type: "string", pattern: `^${TOKEN_ID_PREFIX}` },
      kind: { enum: ["user", "service"] },
      roles: { type: "array", items: role },
      attributes,
    },
  };
  return { anyOf: [own, ofToken] };
}
