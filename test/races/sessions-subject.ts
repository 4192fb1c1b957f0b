import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { MessageConflictError } from "../../src/sessions/calls/stored-messages.ts";
import type { AnswerOutcome, PersonAnswer } from "../../src/sessions/confirmations/answer.ts";
import type { Confirmation } from "../../src/sessions/confirmations/confirmation.ts";
import { openSessions, type Sessions } from "../../src/sessions/sessions.ts";
import type { SessionStore } from "../../src/sessions/store/store.ts";
import type { Turn } from "../../src/sessions/turn.ts";
import type { Subject } from "./subject.ts";
import type { VectorMessage } from "./vector.ts";
import type { World } from "./world.ts";

/** Far longer than an interleaving takes. */
const TIMEOUT_MS = 20_000;

/** The sessions of the library. */
export class SessionsSubject implements Subject {
  readonly #store: SessionStore;
  readonly #world: World;
  #sessions: Sessions | undefined;

  constructor(store: SessionStore, world: World) {
    this.#store = store;
    this.#world = world;
  }

  async start(): Promise<void> {
    const context = { ...this.#world.startProcess(), sandboxes: this.#world.sandboxes };
    const sessions = await openSessions({
      ...context,
      store: this.#store,
      confirmations: { timeoutMs: TIMEOUT_MS },
    });
    for (const id of ["s1", "s2"]) {
      if (sessions.get(id) === undefined) {
        await sessions.open({ id, principal: { id: `agent of ${id}`, kind: "agent" } });
      }
    }
    this.#sessions = sessions;
  }

  async dispatch(message: VectorMessage): Promise<readonly (ToolExecution | null)[]> {
    const turn = await this.#turnOf(message);
    if (turn === undefined) throw new Error("the session is not open");
    const options = { messageId: message.id };
    try {
      return await turn.dispatchAll(message.calls, options);
    } catch (error) {
      if (!(error instanceof MessageConflictError)) throw error;
      // The caller has changed the message since it was received, and learns how the one that was received ends.
      const messages = await this.#store.messages(message.session, message.turn);
      const received = messages.find(({ messageId }) => messageId === message.id);
      return turn.dispatchAll(received?.calls ?? message.calls, options);
    }
  }

  /** Ends of calls that the store could not write are written soon. */
  isBusy(): boolean {
    return this.#sessions?.problem !== undefined;
  }

  cancel(message: VectorMessage): void {
    void this.#turnOf(message).then((turn) => turn?.cancel());
  }

  setMode(session: string, mode: "autonomous" | "cautious" | "manual"): void {
    this.#sessions
      ?.get(session)
      ?.setMode(mode)
      .catch(() => {});
  }

  open(): readonly Confirmation[] {
    return this.#sessions?.openConfirmations() ?? [];
  }

  async answer(id: string, answer: PersonAnswer): Promise<AnswerOutcome> {
    return (await this.#sessions?.answer(id, answer)) ?? { outcome: "unknown" };
  }

  /** Nothing can happen any more, since the store of the process is gone. Its timers end soon. */
  discard(): void {}

  async #turnOf({ session: sessionId, turn: id }: VectorMessage): Promise<Turn | undefined> {
    const session = this.#sessions?.get(sessionId);
    const known = await session?.findTurn(id);
    if (known !== undefined || session === undefined) return known;
    try {
      return session.turn({ id });
    } catch {
      // Another message has begun the turn meanwhile.
      return session.findTurn(id);
    }
  }
}
