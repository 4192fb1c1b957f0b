import type { KeyObject } from "node:crypto";
import { TOKEN_ID_PREFIX } from "../access-tokens/token-principal.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { compileNamePattern, type NamePattern } from "../policy/match/name-pattern.ts";
import { checkPrincipal, type Principal } from "../policy/principal.ts";
import { ROLES, type Role, type RouteAccess } from "./access.ts";
import { type Credentials, callerOf, certifiedCallerOf, type Sender } from "./authentication.ts";
import { forbidden } from "./refusals.ts";
import { CERTIFICATE_NAME_FORM, isCertificateName } from "./tls/client-certificate.ts";

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

/** The person who logs in to the console with one-time tokens. Must not have the role `caller`. */
export type Operator = Pick<Credential, "id" | "roles" | "approves">;

/** The name of the operator's sender. No other one has it: those of credentials have two words, or are `token`. */
export const OPERATOR_CALLER = "console";

/** What the access to a session depends on. */
export interface OwnedSession {
  readonly principal: Pick<Principal, "id"> | undefined;
}

/** What an authenticated client may do. */
export class Client {
  readonly principal: Principal | undefined;
  /** A name of its own for each credential. */
  readonly name: string;
  readonly #roles: ReadonlySet<Role>;
  /** `undefined` for the client's own id. */
  readonly #approves: readonly NamePattern[] | undefined;
  /** Differs from that of a client that may do other things. */
  readonly #rights: string;

  constructor({ principal, caller }: Sender, { roles, approves }: Pick<Credential, "roles" | "approves">) {
    this.principal = principal;
    this.name = caller;
    this.#roles = new Set(roles);
    this.#approves = approves?.map(compileNamePattern);
    this.#rights = JSON.stringify([principal?.id, [...this.#roles].sort(), approves]);
  }

  get roles(): readonly Role[] {
    return [...this.#roles];
  }

  is(role: Role): boolean {
    return this.#roles.has(role);
  }

  /** The id of a client that approves for a session. */
  get approver(): string {
    if (this.principal === undefined) throw new Error("an approver has a principal");
    return this.principal.id;
  }

  /** Whether the session is the client's own, so that it may use it. */
  owns({ principal }: OwnedSession): boolean {
    return this.is("caller") && principal?.id === this.principal?.id;
  }

  /** Whether the client may answer for the session. */
  approves({ principal }: OwnedSession): boolean {
    if (!this.is("approver") || this.principal === undefined) return false;
    const approves = this.#approves;
    if (approves === undefined) return principal?.id === this.principal.id;
    return approves.some((pattern) => pattern.matches(principal?.id ?? ""));
  }

  /** Whether another client may do the same. */
  equals(other: Client): boolean {
    return this.#rights === other.#rights;
  }

  /** Whether the client may know about the session. */
  sees(session: OwnedSession): boolean {
    return this.owns(session) || this.inspects(session);
  }

  /** Whether the client may also know what is not for the caller of the session, such as the arguments of nested calls. */
  inspects(session: OwnedSession): boolean {
    return this.approves(session) || this.is("reader") || this.is("admin");
  }
}

/** Finds what the senders of requests may do. */
export class Clients {
  readonly #operator: Operator | undefined;
  /** By the names of their senders. */
  #credentials: ReadonlyMap<string, Pick<Credential, "id" | "roles" | "approves">>;

  /**
   * @param credentials Those that `withCredentials` added to an executor's.
   * @param operator That of the console. Default: none.
   */
  constructor(credentials: readonly Credential[], operator?: Operator) {
    this.#operator = operator;
    this.#credentials = this.#bySender(credentials);
  }

  /** Replaces the credentials. */
  replace(credentials: readonly Credential[]): void {
    this.#credentials = this.#bySender(credentials);
  }

  #bySender(credentials: readonly Credential[]): ReadonlyMap<string, Operator> {
    const named = credentials.map((credential): [string, Operator] => [nameOf(credential), credential]);
    return new Map(this.#operator === undefined ? named : [[OPERATOR_CALLER, this.#operator], ...named]);
  }

  /** Whether a principal with one of the credentials may answer for a session. */
  approves(id: string, session: OwnedSession): boolean {
    const person: Sender = {
      caller: "",
      credential: "",
      isSigned: false,
      principal: { id, kind: "user" },
    };
    return [...this.#credentials.values()].some(
      (rights) => rights.id === id && new Client(person, rights).approves(session),
    );
  }

  of(sender: Sender): Client {
    return new Client(sender, this.#credentials.get(sender.caller) ?? rightsWithout(sender));
  }
}

/**
 * The rights of a sender without one of the {@link Credential | credentials}: those of a caller with an access token, and
 * otherwise those of a client, with or without a credential of the executor.
 */
function rightsWithout({ expiresAt }: Sender): Pick<Credential, "roles"> {
  return { roles: [expiresAt === undefined ? "client" : "caller"] };
}

/** The name of the sender with a credential. */
function nameOf({ id, token, certificate }: Credential): string {
  if (token !== undefined) return callerOf({ token });
  return certificate === undefined ? `key ${id}` : certifiedCallerOf({ certificate });
}

/** @throws {TypeError} if the operator is a caller. */
export function operatorSender({ id, roles }: Operator): Sender {
  if (roles.includes("caller")) throw new TypeError("the operator of the console must not be a caller");
  const principal = checkPrincipal({ id, kind: "user" });
  return { caller: OPERATOR_CALLER, credential: "", principal, isSigned: false };
}

/** Whether a client may use a route, and what it must be to the session of the path. */
export function mayUse(
  { roles, session: relation, refusesCallers = false }: RouteAccess,
  client: Client,
  session?: OwnedSession,
): boolean {
  if (roles.length === 0) return true;
  if (refusesCallers && client.is("caller")) return false;
  if (!roles.some((role) => client.is(role))) return false;
  if (relation === undefined) return true;
  return session !== undefined && client[relation](session);
}

/**
 * Refuses a client that may not use a route.
 *
 * @param session That of the path, which the client sees.
 * @throws {RequestRefusal} 403.
 */
export function admit(access: RouteAccess, client: Client, session?: OwnedSession): void {
  if (!mayUse(access, client, session)) throw forbidden(access.refusal);
}
