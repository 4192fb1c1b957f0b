import type { ToolExecution } from "sandgate";
import {
  type AnswerOutcome,
  type Confirmation,
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
  readonly confirmation: Confirmation;
  readonly result: Promise<ToolExecution | null>;
}

/** Any number of confirmations that are open at the same time, each about a call in a turn of its own. */
export class OpenConfirmations {
  readonly #all: Sessions[] = [];
  /** The oldest first. */
  readonly #waiting: Waiting[] = [];
  #onAsked: (confirmation: Confirmation) => void = () => {};

  /**
   * Opens confirmations.
   *
   * @param newStore Returns the store of the n-th `Sessions`; `undefined` if calls are not kept.
   */
  async open(count: number, parts: Parts, newStore: (n: number) => SessionStore | undefined): Promise<void> {
    for (let left = count; left > 0; left -= MAX_OPEN) {
      const store = newStore(this.#all.length);
      const sessions = await openSessions({ ...parts, ...(store && { store }) });
      this.#all.push(sessions);
      sessions.onConfirmation(({ type, confirmation }) => {
        if (type === "requested") this.#onAsked(confirmation);
      });
      const most = Math.min(left, MAX_OPEN);
      for (let opened = 0; opened < most; opened += MAX_OPEN_PER_PRINCIPAL) {
        const session = await sessions.open({ principal: { kind: "user", id: `principal ${opened}` } });
        const calls = Math.min(most - opened, MAX_OPEN_PER_PRINCIPAL);
        for (let i = 0; i < calls; i++) await this.#ask(sessions, session);
      }
    }
  }

  /** Dispatches a call, and waits until its confirmation is open. */
  async #ask(sessions: Sessions, session: Session): Promise<void> {
    const { promise: asked, resolve } = Promise.withResolvers<Confirmation>();
    this.#onAsked = resolve;
    const result = session.turn().dispatch(CALL);
    this.#waiting.push({ sessions, session, confirmation: await asked, result });
  }

  /** Answers the oldest confirmation. */
  answer(): Promise<AnswerOutcome> {
    const { sessions, confirmation } = this.#waiting[0] as Waiting;
    return sessions.answer(confirmation.id, { decision: "allow", digest: confirmation.digest, by: "bench" });
  }

  /** Checks that the call ran whose confirmation was answered, and opens another confirmation instead. */
  async replace(): Promise<void> {
    const { sessions, session, result } = this.#waiting.shift() as Waiting;
    isEcho(await result);
    await this.#ask(sessions, session);
  }

  async close(): Promise<void> {
    for (const sessions of this.#all) await sessions.close();
  }
}
