import { callerOf, certifiedCallerOf, type Sender } from "../../http/authentication.ts";
import { compileNamePattern, type NamePattern } from "../../policy/match/name-pattern.ts";
import { checkPrincipal, type Principal } from "../../policy/principal.ts";
import type { Role } from "../../shapes/operation.ts";
import type { Credential } from "./credential.ts";

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
  /** By the names of their senders. */
  readonly #credentials = new Map<string, Pick<Credential, "id" | "roles" | "approves">>();

  /**
   * @param credentials Those that `withCredentials` added to an executor's.
   * @param operator That of the console. Default: none.
   */
  constructor(credentials: readonly Credential[], operator?: Operator) {
    if (operator !== undefined) this.#credentials.set(OPERATOR_CALLER, operator);
    for (const credential of credentials) {
      this.#credentials.set(nameOf(credential), credential);
    }
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
