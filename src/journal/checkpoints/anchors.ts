import { checkReceiver, type Receiver, receiverName, type SendOptions, sendTo } from "../../base/receiver.ts";

/** Where checkpoints are copied: away from the machine, so that those who can change the journal cannot change them. */
export type Anchor = Receiver;

const SENDING: SendOptions = { timeoutMs: 10_000, mediaType: "text/plain; charset=utf-8" };
const RETRY_MS = 10_000;

/** @throws {TypeError} if an anchor is not valid. */
export function checkAnchors(anchors: readonly Anchor[]): readonly Anchor[] {
  return anchors.map((anchor) => checkReceiver(anchor, "an anchor"));
}

/**
 * Copies checkpoints to anchors, one after the other. An anchor that is slow or fails receives the newest checkpoint
 * next, which covers those before it.
 */
export class Anchors implements AsyncDisposable {
  readonly #lines: readonly AnchorLine[];

  /** @param onFailed Called each time that an anchor did not accept a checkpoint. */
  constructor(anchors: readonly Anchor[], onFailed: (reason: string) => void) {
    this.#lines = anchors.map((anchor) => new AnchorLine(anchor, onFailed));
  }

  copy(note: string): void {
    for (const line of this.#lines) line.copy(note);
  }

  /** Waits until each anchor has the last checkpoint, or has failed to take it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#lines.map((line) => line[Symbol.asyncDispose]()));
  }
}

class AnchorLine implements AsyncDisposable {
  readonly #anchor: Anchor;
  readonly #onFailed: (reason: string) => void;
  #newest: string | undefined;
  #sending: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor(anchor: Anchor, onFailed: (reason: string) => void) {
    this.#anchor = anchor;
    this.#onFailed = onFailed;
  }

  copy(note: string): void {
    this.#newest = note;
    if (this.#retry === undefined) this.#sending ??= this.#sendAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#retry);
    await this.#sending;
    if (this.#newest !== undefined) await this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    while (this.#newest !== undefined) {
      const note = this.#newest;
      this.#newest = undefined;
      try {
        await sendTo(this.#anchor, note, SENDING);
      } catch (error) {
        this.#onFailed(`${receiverName(this.#anchor)}: ${(error as Error).message}`);
        this.#newest ??= note;
        this.#retryLater();
        break;
      }
    }
    this.#sending = undefined;
  }

  #retryLater(): void {
    if (this.#isClosing) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#sending ??= this.#sendAll();
    }, RETRY_MS).unref();
  }
}
