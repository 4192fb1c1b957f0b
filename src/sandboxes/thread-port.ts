import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { FromThread, GivenTask, ToThread } from "./thread-message.ts";
import { SLOTS, type ThreadTable } from "./thread-table.ts";

/** The pool's end of the channel to one of its threads. */
export class ThreadPort {
  readonly #port: MessagePort;
  readonly #table: ThreadTable;
  readonly #onMessage: (message: FromThread) => void;
  /** Tasks that are sent together: a message costs as much as a small task. */
  readonly #outbox: GivenTask[] = [];

  /** @param table Where the thread sees that something was sent. */
  constructor(port: MessagePort, table: ThreadTable, onMessage: (message: FromThread) => void) {
    this.#port = port;
    this.#table = table;
    this.#onMessage = onMessage;
    port.on("message", this.#receive);
    // Whoever waits for a task keeps the process alive.
    port.unref();
  }

  /** Sends a task: at once to an idle thread, to another one with all that comes in the same turn. */
  give(task: GivenTask, isIdle: boolean): void {
    this.#outbox.push(task);
    if (isIdle) this.#flush();
    else if (this.#outbox.length === 1) queueMicrotask(this.#flush);
  }

  /** Sends anything else, behind what was sent before. */
  post(message: ToThread): void {
    this.#flush();
    this.#send(message);
  }

  readonly #flush = (): void => {
    if (this.#outbox.length === 0) return;
    this.#send(this.#outbox);
    this.#outbox.length = 0;
  };

  #send(message: ToThread): void {
    this.#port.postMessage(message);
    this.#table.announceMessage();
  }

  /** An event for each message costs more than to look for those that came with it. */
  readonly #receive = (message: FromThread): void => {
    this.#onMessage(message);
    this.#receiveMore(SLOTS);
  };

  #receiveMore(most: number): void {
    for (let count = 0; count < most; count++) {
      const received = receiveMessageOnPort(this.#port) as { readonly message: FromThread } | undefined;
      if (received === undefined) return;
      this.#onMessage(received.message);
    }
  }

  /** Takes in what the thread said last, and is closed then. */
  close(): void {
    this.#receiveMore(Number.POSITIVE_INFINITY);
    this.#port.close();
  }
}
