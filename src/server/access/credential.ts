import type { KeyObject } from "node:crypto";
import { TOKEN_ID_PREFIX } from "../../access-tokens/token-principal.ts";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import type { Credentials } from "../../http/authentication.ts";
import { CERTIFICATE_NAME_FORM, isCertificateName } from "../../http/tls/client-certificate.ts";
import { ROLES, type Role } from "../../shapes/operation.ts";

const NAMES: OptionNames<Credential> = {
  id: true,
  key: true,
  token: true,
  certificate: true,
  roles: true,
  approves: true,
};

/** The pairs of roles that no credential has, and why. */
const EXCLUDED: readonly (readonly [Role, Role, string])[] = [
  ["caller", "approver", "it could answer the questions about its own calls"],
  ["client", "caller", "it could dispatch calls about which its sessions would ask"],
  ["client", "approver", "no person is asked about calls of the executor"],
  ["caller", "admin", "it could replace the policy of its own calls"],
  ["client", "admin", "it could replace the policy of its own calls"],
];

/** A credential of a client: a key, a token or a certificate. */
export interface Credential {
  /** The id of the client's principal. Several credentials may have the same id, but only one key each. */
  readonly id: string;
  /** A public Ed25519 key, with which the client signs its requests. */
  readonly key?: KeyObject;
  /** A bearer token of at least 16 characters. */
  readonly token?: string;
  /** A name of the client's certificate, as of `NamedCertificate`. Needs `tls.clientCa`. */
  readonly certificate?: string;
  /** At least one. At most one of `client`, `caller` and `approver`; the first two exclude `admin`. */
  readonly roles: readonly Role[];
  /**
   * Patterns of the ids of principals for whose sessions an approver answers; `*` matches any number of characters.
   * Default: those of its own id.
   */
  readonly approves?: readonly string[];
}

/** What is wrong with a credential besides its key and its token; `undefined` if nothing is. */
export function credentialProblem({
  id,
  key,
  token,
  certificate,
  roles,
  approves,
}: Credential): string | undefined {
  if (typeof id !== "string" || id === "") return "the id must not be empty";
  if ([key, token, certificate].filter((given) => given !== undefined).length !== 1)
    return "there must be one of key, token and certificate";
  if (certificate !== undefined && !isCertificateName(certificate))
    return `the certificate must be ${CERTIFICATE_NAME_FORM}`;
  if (roles.length === 0) return "there must be at least one role";
  const unknown = roles.find((role) => !ROLES.includes(role));
  if (unknown !== undefined) return `a role must be one of ${ROLES.join(", ")}, not '${String(unknown)}'`;
  if ((roles.includes("caller") || roles.includes("client")) && id.startsWith(TOKEN_ID_PREFIX)) {
    return `the id of a caller or a client must not begin with '${TOKEN_ID_PREFIX}': its calls would be those of an access token`;
  }
  for (const [role, other, why] of EXCLUDED) {
    if (!roles.includes(role) || !roles.includes(other)) continue;
    return `a ${role} must not be ${/^a/.test(other) ? "an" : "a"} ${other}: ${why}`;
  }
  if (approves !== undefined && !roles.includes("approver")) return "only an approver can have 'approves'";
  return undefined;
}

/** What is wrong with a credential of the executor beside sessions, if these are the only door; `write` is what to write. */
export function needsExecutor(what: string, write: string): string {
  return (
    `${what} is for clients of the executor, which is off beside sessions, because its calls run under the policy alone and ask ` +
    `no person: write ${write} for an agent that uses sessions, or 'executor: true' if it must dispatch calls without them`
  );
}

/**
 * Adds credentials to those of an executor.
 *
 * @param hasExecutor Whether the executor is served, to which the credentials in `own` and the role `client` belong.
 * @throws {TypeError} if a credential is invalid, or there is no door for it.
 */
export function withCredentials(
  own: Credentials,
  more: readonly Credential[],
  hasExecutor: boolean,
): Credentials {
  if (!hasExecutor) refuseClients(own, more);
  const keys = new Map(own.keys);
  const tokens = [...(own.tokens ?? [])];
  const certificates = [...(own.certificates ?? [])];
  for (const credential of more) {
    const { id, key, token, certificate } = credential;
    refuseUnknown(credential, NAMES, `the credential '${id}'`);
    const problem = credentialProblem(credential);
    if (problem !== undefined) throw new TypeError(`the credential '${id}': ${problem}`);
    if (token !== undefined) tokens.push({ id, token });
    if (certificate !== undefined) certificates.push({ id, certificate });
    if (key === undefined) continue;
    if (keys.has(id)) throw new TypeError(`two keys have the id '${id}': a signature could be of either`);
    const [same] = [...keys].find(([, known]) => known.equals(key)) ?? [];
    if (same !== undefined) throw new TypeError(`the credential '${id}' ${sameKeyAs(same)}`);
    keys.set(id, key);
  }
  return { ...own, keys, tokens, certificates };
}

/** Why a key must not have a second id. */
export function sameKeyAs(id: string): string {
  return `has the same key as '${id}': its holder could choose between their roles`;
}

/** @throws {TypeError} if a credential is one of clients of the executor. */
function refuseClients(
  { keys, token, tokens = [], certificates = [] }: Credentials,
  more: readonly Credential[],
): void {
  const isGiven = {
    keys: keys !== undefined && keys.size > 0,
    token: token !== undefined,
    tokens: tokens.length > 0,
    certificates: certificates.length > 0,
  };
  for (const [name, given] of Object.entries(isGiven)) {
    if (given)
      throw new TypeError(needsExecutor(`the option '${name}'`, "credentials with the role 'caller'"));
  }
  const client = more.find(({ roles }) => roles.includes("client"));
  if (client === undefined) return;
  throw new TypeError(needsExecutor(`the role 'client' of '${client.id}'`, "the role 'caller'"));
}
