import type { CallGates, DurableCall } from "../../sessions/durable-runtime.ts";
import type { Attempts } from "../calls/attempts.ts";

/** How often is asked whether calls that run are cancelled, in ms. */
const ASK_EVERY_MS = 1_000;
/** After how many ms a call that is still not decided on is asked about once more before it begins. */
const SLOW_MS = 250;

/** Returns those of some turns of a session that are cancelled. */
type CancelledTurns = (sessionId: string, turnIds: readonly string[]) => Promise<readonly string[]>;

/** Cancels the calls of this process whose turn was cancelled, by any process, or whose session was closed. */
export class CancelWatch {
  readonly #attempts: Attempts;
  readonly #cancelledTurns: CancelledTurns;
  readonly #asking = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(attempts: Attempts, cancelledTurns: CancelledTurns) {
    this.#attempts = attempts;
    this.#cancelledTurns = cancelledTurns;
  }

  start(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#ask().finally(() => this.start());
    }, ASK_EVERY_MS).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Returns the gates of a call that is dispatched now. It does not begin if it was cancelled while it was decided on. */
  gates(call: DurableCall, gates: CallGates): CallGates {
    let since = performance.now();
    const { idempotencyKey, inquiries, signal } = gates;
    return {
      idempotencyKey,
      signal,
      inquiries: {
        timeoutMs: inquiries.timeoutMs,
        ask: async (question, options) => {
          const resolution = await inquiries.ask(question, options);
          // A call that is cancelled meanwhile learns so by that.
          since = performance.now();
          return resolution;
        },
        earlier: (asked) => inquiries.earlier(asked),
      },
      get connected() {
        return gates.connected;
      },
      get isAbandoned() {
        return gates.isAbandoned;
      },
      begin: async (beginning) => {
        if (performance.now() - since > SLOW_MS) await this.#askOnce(call);
        await gates.begin(beginning);
      },
    };
  }

  async #ask(): Promise<void> {
    const bySession = new Map<string, Set<string>>();
    for (const { sessionId, turnId } of this.#attempts.running(ASK_EVERY_MS)) {
      const turns = bySession.get(sessionId) ?? new Set();
      bySession.set(sessionId, turns.add(turnId));
    }
    for (const [sessionId, turnIds] of bySession) await this.#askFor(sessionId, [...turnIds]);
  }

  /** Asks for a turn. The calls of a message that begin at once ask together. */
  #askOnce({ sessionId, turnId }: DurableCall): Promise<void> {
    const key = JSON.stringify([sessionId, turnId]);
    let asking = this.#asking.get(key);
    if (asking === undefined) {
      asking = this.#askFor(sessionId, [turnId]).finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    return asking;
  }

  async #askFor(sessionId: string, turnIds: readonly string[]): Promise<void> {
    try {
      const cancelled = await this.#cancelledTurns(sessionId, turnIds);
      if (cancelled.length > 0) this.#attempts.cancel(sessionId, cancelled);
    } catch {
      // Restate cannot be reached. It is asked again.
    }
  }
}
