import { canonicalText } from "../../json/canonical.ts";
import { copyJson } from "../../json/copy.ts";
import { newId } from "../../sessions/ids.ts";
import type { Session } from "../../sessions/session.ts";
import type { Principal } from "../../tool/principal.ts";
import type { McpServerOptions } from "./options.ts";

/** The beginning of the ids of sessions of MCP clients. */
const PREFIX = "mcp-";
/** How many principals have a session on the wire without sessions. */
const MAX_SHARED = 1_000;
/** How many of these have the same id, but other roles or attributes. */
const MAX_SHARED_OF_ID = 16;

/** Maximum number of characters of a client's name. */
const MAX_NAME_CHARS = 128;

interface Shared {
  readonly id: string;
  readonly session: Promise<Session>;
}

/**
 * The key of a principal. Its id is not enough: the access tokens of one user have different scopes, and a
 * session belongs to the principal that opened it.
 */
export function principalKey(principal: Principal | undefined): string {
  return principal === undefined ? "" : canonicalText(copyJson(principal));
}

/**
 * The sessions of clients. Each session of MCP 2025-11-25 has its own. MCP 2026-07-28 has no sessions, and
 * what a client sees must not depend on its connection: there, all requests of a principal share one.
 */
export class ClientSessions {
  readonly #options: Pick<McpServerOptions, "sessions" | "session">;
  /** By the keys of principals. */
  readonly #shared = new Map<string, Shared>();

  constructor(options: Pick<McpServerOptions, "sessions" | "session">) {
    this.#options = options;
  }

  /** Whether a session belongs to a client of an MCP server. */
  static owns(sessionId: string): boolean {
    return sessionId.startsWith(PREFIX);
  }

  /** Closes the sessions that an earlier process left: their clients are gone. */
  async closeLeft(): Promise<void> {
    const left = this.#options.sessions.list().filter(({ id }) => ClientSessions.owns(id));
    await Promise.all(left.map((session) => session.close()));
  }

  /**
   * Opens a session for one client. The caller closes it.
   *
   * @param clientName The client's own name. Default: the session has no name.
   */
  open(principal: Principal | undefined, clientName = ""): Promise<Session> {
    const { sessions, session } = this.#options;
    const given = session?.(principal) ?? {};
    const id = PREFIX + newId();
    // The sessions are closed when the process restarts: clients could not resume stored ones.
    const name = clientName.slice(0, MAX_NAME_CHARS).toWellFormed();
    const own = { durable: false, ...(name.trim() !== "" && { name }) };
    return sessions.open({ ...own, ...given, id, ...(principal !== undefined && { principal }) });
  }

  /** The session that all requests of a principal share. */
  async shared(principal: Principal | undefined): Promise<Session> {
    const key = principalKey(principal);
    const known = this.#shared.get(key);
    if (known !== undefined) {
      const session = await known.session;
      // A client of the sessions' own API, or the embedder, may have closed it.
      if (this.#options.sessions.get(session.id) === session) return session;
    }
    const current = this.#shared.get(key);
    if (current !== undefined && current !== known) return current.session;
    const id = principal?.id ?? "";
    if (current === undefined) this.#makeRoom(id);
    const session = this.open(principal);
    this.#shared.set(key, { id, session });
    session.catch(() => this.#shared.delete(key));
    return session;
  }

  /** Closes the session that was opened first, of the same id if that has too many. Its principal gets another one, with new quotas. */
  #makeRoom(id: string): void {
    const own = [...this.#shared].filter(([, shared]) => shared.id === id);
    const [oldest] = own.length >= MAX_SHARED_OF_ID ? own : this.#shared;
    if (oldest === undefined || (own.length < MAX_SHARED_OF_ID && this.#shared.size < MAX_SHARED)) return;
    this.#shared.delete(oldest[0]);
    oldest[1].session.then((session) => session.close()).catch(() => {});
  }

  /** Closes the shared sessions. */
  async close(): Promise<void> {
    const opened = await Promise.allSettled(Array.from(this.#shared.values(), ({ session }) => session));
    this.#shared.clear();
    await Promise.allSettled(
      opened.map((each) => (each.status === "fulfilled" ? each.value.close() : undefined)),
    );
  }
}
