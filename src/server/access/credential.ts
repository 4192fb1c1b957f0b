import type { KeyObject } from "node:crypto";
import { TOKEN_ID_PREFIX } from "../../access-tokens/token-principal.ts";
import type { Credentials } from "../../executor/http/authentication.ts";
import { CERTIFICATE_NAME_FORM, isCertificateName } from "../../executor/tls/client-certificate.ts";

/**
 * What a client may do. `caller`: open sessions, dispatch calls in them, and read, cancel and close its own. `approver`:
 * read sessions and recorded calls of the principals for which it approves, and the tools, answer their inquiries, list and
 * revoke their approvals, and set their modes. `reader`: read all sessions, recorded calls and tools, and verify the journal.
 * `admin`: the same, read sealed arguments, pause the server, and replace its policy.
 */
export type Role = "caller" | "approver" | "reader" | "admin";

/** Every {@link Role}. */
export const ROLES: readonly Role[] = Object.freeze(["caller", "approver", "reader", "admin"]);

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
  /** At least one; `caller` excludes `approver` and `admin`. */
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
  if (roles.includes("caller") && id.startsWith(TOKEN_ID_PREFIX)) {
    return `the id of a caller must not begin with '${TOKEN_ID_PREFIX}': its sessions would be those of an access token`;
  }
  if (roles.includes("caller") && roles.includes("approver")) {
    return "a caller must not be an approver: it could answer the questions about its own calls";
  }
  if (roles.includes("caller") && roles.includes("admin")) {
    return "a caller must not be an admin: it could replace the policy of its own calls";
  }
  if (approves !== undefined && !roles.includes("approver")) return "only an approver can have 'approves'";
  return undefined;
}

/**
 * Adds credentials to those of an executor.
 *
 * @throws {TypeError} if a credential is invalid.
 */
export function withCredentials(own: Credentials, more: readonly Credential[]): Credentials {
  const keys = new Map(own.keys);
  const tokens = [...(own.tokens ?? [])];
  const certificates = [...(own.certificates ?? [])];
  for (const credential of more) {
    const { id, key, token, certificate } = credential;
    const problem = credentialProblem(credential);
    if (problem !== undefined) throw new TypeError(`the credential '${id}': ${problem}`);
    if (token !== undefined) tokens.push({ id, token });
    if (certificate !== undefined) certificates.push({ id, certificate });
    if (key === undefined) continue;
    if (keys.has(id)) throw new TypeError(`two keys have the id '${id}': a signature could be of either`);
    keys.set(id, key);
  }
  return { ...own, keys, tokens, certificates };
}
