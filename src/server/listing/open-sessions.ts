import { parentName } from "../../sessions/calls/agent-records.ts";
import type { Session } from "../../sessions/session.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import type { Client } from "../access/client.ts";
import type { Page } from "../http/page.ts";

/** A page of the open sessions. */
interface SessionPage {
  readonly sessions: readonly object[];
  /** The `before` of the next page. Absent if there is none. */
  readonly next?: number;
}

/** Lists the open sessions, the latest first. */
export class OpenSessions {
  readonly #sessions: Sessions;
  /** In the order of opening. A page is found by these numbers also if its sessions were closed meanwhile. */
  readonly #numbers = new WeakMap<Session, number>();
  #last = 0;

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Returns those of the page that the client inspects. */
  async page(client: Client, { before = Number.POSITIVE_INFINITY, limit }: Page): Promise<SessionPage> {
    const open = await this.#sessions.findAll();
    const earlier = open.filter((session) => this.#numberOf(session) < before && client.inspects(session));
    const shown = earlier.slice(-limit).reverse();
    const inquiries = this.#countInquiries();
    const last = shown.at(-1);
    return {
      sessions: shown.map((session) => viewOf(session, inquiries.get(session.id) ?? 0)),
      ...(last !== undefined && shown.length < earlier.length && { next: this.#numberOf(last) }),
    };
  }

  /** New sessions come last in the list, which is why they can be numbered when it is read. */
  #numberOf(session: Session): number {
    let number = this.#numbers.get(session);
    if (number === undefined) {
      number = ++this.#last;
      this.#numbers.set(session, number);
    }
    return number;
  }

  #countInquiries(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { sessionId } of this.#sessions.openInquiries()) {
      counts.set(sessionId, (counts.get(sessionId) ?? 0) + 1);
    }
    return counts;
  }
}

function viewOf(session: Session, openInquiries: number): object {
  const { id, kind, mode, principal, origin, changes, lanes } = session;
  return {
    ...{ id, kind },
    // A mode that a client defined can name a thousand tools, which the session itself shows.
    mode: typeof mode === "string" ? mode : { base: mode.base },
    ...(principal !== undefined && { principal: { id: principal.id } }),
    ...(origin !== undefined && { parent: parentName(origin) }),
    ...{ openInquiries, heldChanges: changes.count, runningCalls: lanes.running },
  };
}
