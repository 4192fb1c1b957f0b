import { canonicalText } from "../../../src/json/canonical.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import type { PersonAnswer } from "../../../src/sessions/confirmations/answer.ts";
import type { OpenConfirmation, Subject } from "../subject.ts";
import type { VectorMessage } from "../vector.ts";
import type { World } from "../world.ts";
import type { Conversation, Peer, PeerAnswer, PendingCall, Refusal, Stop } from "./peer.ts";
import { type GivenAnswer, isDiskFull, type Saved, type Shelf, type Shown, whileAlive } from "./shelf.ts";

/** After so many refused answers, an application gives up. */
const MAX_REFUSALS = 5;

const NOTHING: Saved = { stop: { state: "", pending: [] }, answers: [] };

/**
 * A process of an application around another library, as the library's documentation describes it: load what is
 * stored, look up the pending call, hand over the answer, store what comes back. A session is a conversation, and its
 * messages are what the model says one after another.
 */
export class Application implements Subject {
  readonly #peer: Peer;
  readonly #shelf: Shelf;
  readonly #world: World;
  /** Whether it takes up what concerns a conversation one after another. */
  readonly #hasLock: boolean;
  readonly #isAlive: () => boolean;
  readonly #dispatched = new Set<VectorMessage["id"]>();
  readonly #starting = new Map<string, Promise<void>>();
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #waiting = new Set<() => void>();
  readonly #refusals = new Map<string, number>();
  #work = 0;

  constructor(peer: Peer, shelf: Shelf, world: World, hasLock: boolean) {
    this.#peer = peer;
    this.#shelf = shelf;
    this.#world = world;
    this.#hasLock = hasLock;
    this.#isAlive = shelf.process();
    world.startProcess();
    // It is read from the library's store again.
    if (peer.keepsState) shelf.saved.clear();
  }

  async start(): Promise<void> {}

  /** A second dispatch in the same process is the caller's who sends a message again. */
  async dispatch(message: VectorMessage): Promise<void> {
    const { session, id } = message;
    const script = this.#shelf.scripts.get(session) ?? [];
    this.#shelf.scripts.set(session, script);
    const key = JSON.stringify([session, id]);
    if (this.#dispatched.has(key)) return this.#resend(message);
    this.#dispatched.add(key);
    if (!script.some((other) => other.id === id)) script.push(message);
    const started = this.#starting.get(session) ?? this.#begin(session);
    this.#starting.set(session, started);
    try {
      await started;
    } catch (error) {
      this.#dispatched.delete(key);
      this.#starting.delete(session);
      throw error;
    }
    if (!this.#hasEnded(message)) {
      await new Promise<void>((resolve) => {
        const check = () => {
          if (!this.#hasEnded(message)) return;
          this.#waiting.delete(check);
          resolve();
        };
        this.#waiting.add(check);
      });
    }
  }

  /** Starts a conversation, or takes it up after a restart. */
  async #begin(session: string): Promise<void> {
    // The caller sends all messages first.
    await whileAlive(this.#isAlive);
    const saved = this.#shelf.saved.get(session);
    if (saved === undefined) {
      await this.#exclusively(session, async () => {
        await this.#take(session, (conversation) => conversation.start());
      });
    } else if (this.#isComplete(saved)) {
      this.#exclusively(session, async () => {
        await this.#go(session, this.#shelf.saved.get(session) as Saved, saved.answers);
      }).catch(() => {});
    }
  }

  async #resend(message: VectorMessage): Promise<void> {
    const { session } = message;
    await this.#exclusively(session, async () => {
      const saved = this.#shelf.saved.get(session);
      if (saved === undefined || isOver(saved)) return;
      if (this.#peer.takesAnswersTogether && !this.#isComplete(saved)) return;
      await this.#go(session, saved, saved.answers, message);
    });
  }

  open(): readonly OpenConfirmation[] {
    return [...this.#shelf.saved].flatMap(([session, saved]) =>
      isOver(saved)
        ? []
        : saved.stop.pending
            .filter(({ id }) => !saved.answers.some((answer) => answer.id === id))
            .map((pending) => this.#show(session, pending)),
    );
  }

  #show(session: string, { id, callId, arguments: args }: PendingCall): OpenConfirmation {
    const text = canonicalText(args);
    const message = this.#messageOf(session, callId, text)?.id ?? "";
    const { definition } = this.#world;
    const digest = JSON.stringify([session, id, callId, text, definition]);
    if (!this.#shelf.shown.has(digest)) {
      const shown: Shown = { session, message, callId, arguments: text, definition, pendingId: id };
      this.#shelf.shown.set(digest, shown);
    }
    return { id: digest, digest, sessionId: session, messageId: message, callId };
  }

  #messageOf(session: string, callId: string, text: string): VectorMessage | undefined {
    const script = this.#shelf.scripts.get(session) ?? [];
    const candidates = script.filter(({ calls }) => calls.some(({ id }) => id === callId));
    const isExact = ({ calls }: VectorMessage) =>
      calls.some((call) => call.id === callId && canonicalText(call.arguments as JsonValue) === text);
    return candidates.find(isExact) ?? candidates[0];
  }

  async answer(id: string, answer: PersonAnswer): Promise<{ readonly outcome: string }> {
    const shown = this.#shelf.shown.get(answer.digest) as Shown;
    const session = answer.sessionId ?? (this.#shelf.shown.get(id) as Shown).session;
    const given: GivenAnswer = {
      shown,
      isAllowed: answer.decision !== "deny",
      isAlways: answer.decision === "always",
      arguments: answer.arguments,
      outcome: "given",
    };
    const peerAnswer: PeerAnswer = {
      id: shown.pendingId,
      isAllowed: given.isAllowed,
      isAlways: given.isAlways,
      ...(answer.arguments !== undefined && { arguments: answer.arguments }),
    };
    this.#shelf.answers.push(given);
    try {
      await this.#exclusively(session, async () => {
        given.outcome = await this.#hand(session, peerAnswer);
      });
    } catch (error) {
      given.outcome = "failed";
      throw error;
    }
    return given;
  }

  /** Hands an answer to the library. */
  async #hand(session: string, answer: PeerAnswer): Promise<"accepted" | "refused" | "failed"> {
    const saved = this.#shelf.saved.get(session);
    if (saved === undefined || isOver(saved)) return "refused";
    if (!saved.stop.pending.some(({ id }) => id === answer.id)) return "refused";
    if (!this.#peer.takesAnswersTogether) return this.#go(session, saved, [answer]);
    if (this.#hasLock && saved.answers.some(({ id }) => id === answer.id)) return "refused";
    const next: Saved = { ...saved, answers: [...saved.answers, answer] };
    this.#shelf.beforeWrite();
    this.#shelf.saved.set(session, next);
    return this.#isComplete(next) ? this.#go(session, next, next.answers) : "accepted";
  }

  #isComplete({ stop, answers }: Saved): boolean {
    return answers.length > 0 && stop.pending.every(({ id }) => answers.some((answer) => answer.id === id));
  }

  /** Goes on with a conversation. */
  async #go(
    session: string,
    saved: Saved,
    answers: readonly PeerAnswer[],
    resent?: VectorMessage,
  ): Promise<"accepted" | "refused" | "failed"> {
    const script = this.#shelf.scripts.get(session) ?? [];
    const calls = script.flatMap((message) => (message.id === resent?.id ? resent : message).calls);
    return this.#take(session, (conversation) => {
      const state = conversation.handOver?.(saved.stop.state, calls) ?? saved.stop.state;
      return conversation.resume(state, answers);
    });
  }

  /** Lets the library work, and stores what comes back. */
  async #take(
    session: string,
    work: (conversation: Conversation) => Promise<Stop | Refusal>,
  ): Promise<"accepted" | "refused" | "failed"> {
    const result = await this.#attempt(work(this.#open(session)));
    await whileAlive(this.#isAlive);
    const { stop, answers } = this.#shelf.saved.get(session) ?? NOTHING;
    if ("failure" in result) return this.#giveUp(session, result.failure);
    if ("refused" in result) {
      const refusals = (this.#refusals.get(session) ?? 0) + 1;
      this.#refusals.set(session, refusals);
      if (refusals >= MAX_REFUSALS) return this.#giveUp(session, result.refused);
      this.#store(session, { stop, answers: answers.slice(0, -1) });
      return "refused";
    }
    // If this write fails, an application can repeat it: it has the result.
    this.#store(session, { stop: structuredClone(result), answers: [] });
    return "accepted";
  }

  #giveUp(session: string, failure: string): "failed" {
    const { stop } = this.#shelf.saved.get(session) ?? NOTHING;
    this.#shelf.failures.push(failure);
    this.#store(session, { stop, answers: [], failure });
    return "failed";
  }

  async #attempt(work: Promise<Stop | Refusal>): Promise<Stop | Refusal | { readonly failure: string }> {
    try {
      return await work;
    } catch (error) {
      if (isDiskFull(error)) throw error;
      return { failure: String(error) };
    }
  }

  #store(session: string, saved: Saved): void {
    this.#shelf.saved.set(session, saved);
    for (const check of this.#waiting) check();
  }

  #open(session: string): Conversation {
    const { definition } = this.#world;
    const isAlive = this.#isAlive;
    return this.#peer.open({
      session,
      definition,
      disk: this.#shelf.library,
      beforeWrite: async () => {
        await whileAlive(isAlive);
        this.#shelf.beforeWrite();
      },
      nextCalls: (after) => this.#nextCalls(session, after),
      isDenied: () => this.#world.policy === "deny",
      run: async (_name, callId, input) => {
        await whileAlive(isAlive);
        const result = await this.#world.use({
          key: JSON.stringify([session, callId]),
          arguments: canonicalText(input),
          definition,
          wallTimeMs: undefined,
        });
        await whileAlive(isAlive);
        return result;
      },
    });
  }

  #nextCalls(session: string, after: number): VectorMessage["calls"] | undefined {
    let count = 0;
    for (const { calls } of this.#shelf.scripts.get(session) ?? []) {
      if (count === after) return calls;
      count += calls.length;
    }
    return undefined;
  }

  #hasEnded({ session, id }: VectorMessage): boolean {
    const saved = this.#shelf.saved.get(session);
    if (saved === undefined) return false;
    if (isOver(saved)) return true;
    const script = this.#shelf.scripts.get(session) ?? [];
    const placeOf = (messageId: string) => script.findIndex((message) => message.id === messageId);
    const current = this.open().find(({ sessionId }) => sessionId === session)?.messageId;
    return current !== undefined && placeOf(id) < placeOf(current);
  }

  async #exclusively(session: string, work: () => Promise<void>): Promise<void> {
    this.#work++;
    try {
      const before = this.#hasLock ? this.#last.get(session) : undefined;
      const running = Promise.resolve(before?.catch(() => {})).then(work);
      this.#last.set(session, running);
      await running;
    } finally {
      this.#work--;
    }
  }

  isBusy(): boolean {
    return this.#work > 0;
  }

  cancel(): void {
    throw new Error("no vector with a cancellation is played with other libraries");
  }

  discard(): void {}
}

function isOver({ stop, failure }: Saved): boolean {
  return failure !== undefined || stop.pending.length === 0;
}
