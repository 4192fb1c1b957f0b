import type { KeyObject } from "node:crypto";
import { TOKEN_ID_PREFIX } from "../../access-tokens/token-principal.ts";
import type { Credentials } from "../../executor/http/authentication.ts";

/**
 * What a client may do. `caller`: open sessions, dispatch calls in them, and read, cancel and close its own. `approver`:
 * read sessions of the principals for which it approves, answer their inquiries, list and revoke their approvals, and set
 * their modes. `reader`: read all sessions. `admin`: read all sessions, pause the server, and replace its policy.
 */
export type Role = "caller" | "approver" | "reader" | "admin";

/** Every {@link Role}. */
export const ROLES: readonly Role[] = Object.freeze(["caller", "approver", "reader", "admin"]);

/** A credential of a client: a key or a token. */
export interface Credential {
  /** The id of the client's principal. Several credentials may have the same id, but only one key each. */
  readonly id: string;
  /** A public Ed25519 key, with which the client signs its requests. */
  readonly key?: KeyObject;
  /** A bearer token of at least 16 characters. */
  readonly token?: string;
  /** At least one; `caller` excludes `approver` and `admin`. */
  readonly roles: readonly Role[];
  /**
   * Patterns of the ids of principals for whose sessions an approver answers; `*` matches any number of characters.
   * Default: those of its own id.
   */
  readonly approves?: readonly string[];
}

/** What is wrong with a credential besides its key and its token; `undefined` if nothing is. */
export function credentialProblem({ id, key, token, roles, approves }: Credential): string | undefined {
  if (typeof id !== "string" || id === "") return "the id must not be empty";
  if ((key === undefined) === (token === undefined)) return "there must be either a key or a token";
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
  for (const credential of more) {
    const { id, key, token } = credential;
    const problem = credentialProblem(credential);
    if (problem !== undefined) throw new TypeError(`the credential '${id}': ${problem}`);
    if (token !== undefined) tokens.push({ id, token });
    if (key === undefined) continue;
    if (keys.has(id)) throw new TypeError(`two keys have the id '${id}': a signature could be of either`);
    keys.set(id, key);
  }
  return { ...own, keys, tokens };
}
