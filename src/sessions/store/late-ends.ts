import type { MaybePromise } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import type { CallIdentity } from "../../record/identity.ts";
import type { CallTable } from "./store.ts";

/** The end of a call that is not in the store yet. */
interface LateEnd {
  readonly identity: CallIdentity;
  readonly execution: ToolExecution;
  readonly size: number;
}

/** Is notified when the store fails and recovers. */
export interface LateEndListener {
  onFailure(reason: string): void;
  /** @param lost The number of ends that could not be stored, since the process began. */
  onRecovery(lost: number): void;
}

/** Beyond these bounds, an end is lost: the call is `begun` until a restart, and then `unknown`. */
const MAX_ENDS = 10_000;
const MAX_SIZE = 67_108_864;
/** Milliseconds to the first retry. Each further one waits twice as long, up to the maximum. */
const FIRST_RETRY_MS = 10;
const MAX_RETRY_MS = 1_000;

/**
 * Writes the ends of calls. Those that the store fails to write are buffered in memory and written later, in their order: the
 * effect of a call cannot be undone, so its end must not be lost.
 */
export class LateEnds {
  readonly #write: CallTable["end"];
  readonly #listener: LateEndListener;
  readonly #buffered: LateEnd[] = [];
  /** Of the buffered executions, in UTF-16 code units of JSON. */
  #size = 0;
  #lost = 0;
  #problem: string | undefined;
  #delayMs = FIRST_RETRY_MS;
  #retry: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;

  constructor(write: CallTable["end"], listener: LateEndListener) {
    this.#write = write;
    this.#listener = listener;
  }

  /** Why ends cannot be written now; `undefined` if none is buffered. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Writes an end now, or later. Never throws or rejects. */
  end(identity: CallIdentity, execution: ToolExecution): MaybePromise<void> {
    if (this.#problem !== undefined) return this.#buffer(identity, execution);
    try {
      const written = this.#write(identity, execution);
      if (!(written instanceof Promise)) return undefined;
      return written.catch((error: unknown) => this.#fail(error, identity, execution));
    } catch (error) {
      return this.#fail(error, identity, execution);
    }
  }

  /** The execution of a call whose end is buffered. */
  find(sessionId: string, turnId: string, messageId: string, callId: string): ToolExecution | undefined {
    return this.#buffered.find(
      ({ identity }) =>
        identity.callId === callId &&
        identity.messageId === messageId &&
        identity.turnId === turnId &&
        identity.sessionId === sessionId,
    )?.execution;
  }

  /** Tries once more to write what is buffered. Returns the number of ends that are lost. */
  async close(): Promise<number> {
    await this.#round;
    await this.#writeAll();
    clearTimeout(this.#retry);
    return this.#lost + this.#buffered.length;
  }

  #fail(error: unknown, identity: CallIdentity, execution: ToolExecution): void {
    const isFirst = this.#problem === undefined;
    this.#problem = describeThrown(error).message;
    this.#buffer(identity, execution);
    if (!isFirst) return;
    this.#listener.onFailure(this.#problem);
    this.#tryLater();
  }

  #buffer(identity: CallIdentity, execution: ToolExecution): void {
    const size = JSON.stringify(execution).length;
    if (this.#buffered.length >= MAX_ENDS || this.#size + size > MAX_SIZE) {
      this.#lost++;
      return;
    }
    this.#size += size;
    this.#buffered.push({ identity, execution, size });
  }

  #tryLater(): void {
    this.#retry = setTimeout(() => {
      this.#round = this.#writeAll();
    }, this.#delayMs).unref();
    this.#delayMs = Math.min(this.#delayMs * 2, MAX_RETRY_MS);
  }

  async #writeAll(): Promise<void> {
    if (this.#problem === undefined) return;
    clearTimeout(this.#retry);
    try {
      for (let next = this.#buffered[0]; next !== undefined; next = this.#buffered[0]) {
        await this.#write(next.identity, next.execution);
        this.#buffered.shift();
        this.#size -= next.size;
      }
    } catch (error) {
      this.#problem = describeThrown(error).message;
      this.#tryLater();
      return;
    }
    this.#problem = undefined;
    this.#delayMs = FIRST_RETRY_MS;
    this.#listener.onRecovery(this.#lost);
  }
}
