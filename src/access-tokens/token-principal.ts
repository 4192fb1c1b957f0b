import { copyJson } from "../json/copy.ts";
import { lookUp, MISSING, parsePointer, UNREACHABLE } from "../json/pointer.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import { checkPrincipal, type Principal } from "../policy/principal.ts";
import type { AccessTokenOptions } from "./options.ts";

/** The prefix of the ids of principals with an access token. No id of the server's own credentials has it. */
export const TOKEN_ID_PREFIX = "oauth:";
/** The prefix of the roles that represent a token's scopes. */
const SCOPE_PREFIX = "scope:";

/** The principal and the scopes of an access token. */
export interface TokenSubject {
  readonly principal: Principal;
  readonly scopes: readonly string[];
}

/**
 * Creates the principal of a verified access token. Its id is `oauth:SUB`; its roles are `scope:SCOPE` for
 * each scope, and those of the mapped claim; its attributes are `issuer`, `scopes`, `clientId` if the token
 * has one, and the mapped ones. If a client requested the token for itself, the client is its subject (RFC
 * 9068, section 2.2), and the principal is a service.
 *
 * @throws {TypeError} if a claim has an invalid type.
 */
export function tokenSubject(
  claims: Readonly<Record<string, unknown>>,
  { issuer, principal: mapped = {} }: Pick<AccessTokenOptions, "issuer" | "principal">,
): TokenSubject {
  const { sub, client_id: clientId, scope = "" } = copyJson(claims) as JsonObject;
  if (typeof sub !== "string" || sub === "") throw new TypeError("the claim sub is not a string");
  if (clientId !== undefined && typeof clientId !== "string")
    throw new TypeError("client_id is not a string");
  if (typeof scope !== "string") throw new TypeError("the claim scope is not a string");
  // The order of scopes has no meaning, but sessions compare principals for equality.
  const scopes = [...new Set(scope.split(" ").filter(Boolean))].sort();
  const roles = mapped.roles === undefined ? [] : textsOf(claimAt(claims, mapped.roles) ?? []);
  const attributes = Object.entries(mapped.attributes ?? {}).flatMap(([name, pointer]) => {
    const value = claimAt(claims, pointer);
    return value === undefined ? [] : [[name, value] as const];
  });
  const principal = checkPrincipal({
    id: TOKEN_ID_PREFIX + sub,
    kind: sub === clientId ? "service" : "user",
    roles: [...scopes.map((each) => SCOPE_PREFIX + each), ...roles],
    attributes: {
      ...Object.fromEntries(attributes),
      issuer,
      scopes,
      ...(clientId !== undefined && { clientId }),
    },
  });
  return { principal, scopes };
}

function claimAt(claims: Readonly<Record<string, unknown>>, pointer: string): JsonValue | undefined {
  const found = lookUp(claims as JsonObject, parsePointer(pointer));
  return found === MISSING || found === UNREACHABLE ? undefined : found;
}

/** Refuses roles that look like scopes: only the claim `scope` grants scopes. */
function textsOf(roles: JsonValue): readonly string[] {
  const isValid = (role: JsonValue): role is string =>
    typeof role === "string" && !role.startsWith(SCOPE_PREFIX);
  if (!Array.isArray(roles) || !roles.every(isValid))
    throw new TypeError("the roles are not a list of strings");
  return [...new Set(roles)].sort();
}
