import type { ToolExecution } from "sandgate";
import {
  type AnswerOutcome,
  type Inquiry,
  openSessions,
  type Session,
  type SessionStore,
  type Sessions,
} from "sandgate/sessions";
import { isEcho } from "../setting.ts";
import { CALL, type Parts } from "./setting.ts";

/** As many as can be open in one `Sessions`. */
const MAX_OPEN = 1_000;
/** As many as can be open for one principal. */
const MAX_OPEN_PER_PRINCIPAL = 32;

/** A call that waits for a person. */
interface Waiting {
  readonly sessions: Sessions;
  readonly session: Session;
  readonly inquiry: Inquiry;
  readonly result: Promise<ToolExecution | null>;
}

/** Any number of inquiries that are open at the same time, each about a call in a turn of its own. */
export class OpenInquiries {
  readonly #all: Sessions[] = [];
  /** The oldest first. */
  readonly #waiting: Waiting[] = [];
  #onAsked: (inquiry: Inquiry) => void = () => {};

  /**
   * Opens inquiries.
   *
   * @param newStore Returns the store of the n-th `Sessions`; `undefined` if calls are not kept.
   */
  async open(count: number, parts: Parts, newStore: (n: number) => SessionStore | undefined): Promise<void> {
    for (let left = count; left > 0; left -= MAX_OPEN) {
      const store = newStore(this.#all.length);
      const sessions = await openSessions({ ...parts, ...(store && { store }) });
      this.#all.push(sessions);
      sessions.onInquiry(({ type, inquiry }) => {
        if (type === "requested") this.#onAsked(inquiry);
      });
      const most = Math.min(left, MAX_OPEN);
      for (let opened = 0; opened < most; opened += MAX_OPEN_PER_PRINCIPAL) {
        const session = await sessions.open({ principal: { kind: "user", id: `principal ${opened}` } });
        const calls = Math.min(most - opened, MAX_OPEN_PER_PRINCIPAL);
        for (let i = 0; i < calls; i++) await this.#ask(sessions, session);
      }
    }
  }

  /** Dispatches a call, and waits until its inquiry is open. */
  async #ask(sessions: Sessions, session: Session): Promise<void> {
    const { promise: asked, resolve } = Promise.withResolvers<Inquiry>();
    this.#onAsked = resolve;
    const result = session.turn().dispatch(CALL);
    this.#waiting.push({ sessions, session, inquiry: await asked, result });
  }

  /** Answers the oldest inquiry. */
  answer(): Promise<AnswerOutcome> {
    const { sessions, inquiry } = this.#waiting[0] as Waiting;
    return sessions.answer(inquiry.id, { decision: "allow", digest: inquiry.digest, by: "bench" });
  }

  /** Checks that the call ran whose inquiry was answered, and opens another inquiry instead. */
  async replace(): Promise<void> {
    const { sessions, session, result } = this.#waiting.shift() as Waiting;
    isEcho(await result);
    await this.#ask(sessions, session);
  }

  async close(): Promise<void> {
    for (const sessions of this.#all) await sessions.close();
  }
}
