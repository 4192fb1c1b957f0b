import type { Sender } from "../../executor/http/authentication.ts";
import { compileNamePattern, type NamePattern } from "../../policy/match/name-pattern.ts";
import type { Principal } from "../../policy/principal.ts";
import type { Credential, Role } from "./credential.ts";

/** What the access to a session depends on. */
interface OwnedSession {
  readonly principal: Principal | undefined;
}

/** What an authenticated client may do. */
export class Client {
  readonly principal: Principal | undefined;
  /** A name of its own for each credential. */
  readonly name: string;
  readonly #roles: ReadonlySet<Role>;
  /** `undefined` for the client's own id. */
  readonly #approves: readonly NamePattern[] | undefined;

  /** @param credential Default: the client is a caller. */
  constructor({ principal, caller }: Sender, credential?: Pick<Credential, "roles" | "approves">) {
    this.principal = principal;
    this.name = caller;
    this.#roles = new Set(credential?.roles ?? ["caller"]);
    this.#approves = credential?.approves?.map(compileNamePattern);
  }

  is(role: Role): boolean {
    return this.#roles.has(role);
  }

  /** Whether the session is the client's own, so that it may use it. */
  owns({ principal }: OwnedSession): boolean {
    return this.is("caller") && principal?.id === this.principal?.id;
  }

  /** Whether the client may answer for the session. */
  approves({ principal }: OwnedSession): boolean {
    if (!this.is("approver")) return false;
    const approves = this.#approves;
    if (approves === undefined) return principal !== undefined && principal.id === this.principal?.id;
    return approves.some((pattern) => pattern.matches(principal?.id ?? ""));
  }

  /** Whether the client may know about the session. */
  sees(session: OwnedSession): boolean {
    return this.owns(session) || this.approves(session) || this.is("reader") || this.is("admin");
  }
}

/** Finds what the senders of requests may do. */
export class Clients {
  /** By the names of their senders. */
  readonly #credentials = new Map<string, Credential>();

  /**
   * @param credentials In the order in which `withCredentials` added them.
   * @param tokenCount The number of tokens that were there before.
   */
  constructor(credentials: readonly Credential[], tokenCount: number) {
    let index = tokenCount;
    for (const credential of credentials) {
      const name = credential.key === undefined ? `token ${index++}` : `key ${credential.id}`;
      this.#credentials.set(name, credential);
    }
  }

  of(sender: Sender): Client {
    return new Client(sender, this.#credentials.get(sender.caller));
  }
}
