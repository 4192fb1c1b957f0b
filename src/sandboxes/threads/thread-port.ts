import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { FromThread, GivenTask, ToThread } from "./thread-message.ts";
import { SLOTS, type ThreadTable } from "./thread-table.ts";

/** Receives the messages of a port, and failures to send. */
export interface PortOwner {
  onMessage(message: FromThread): void;
  /** A task could not be sent, since it cannot be cloned. */
  onUnsent(task: GivenTask, error: unknown): void;
}

/** The pool's end of the channel to one of its threads. */
export class ThreadPort {
  readonly #port: MessagePort;
  readonly #table: ThreadTable;
  readonly #owner: PortOwner;
  /** Tasks to send together, since a message costs as much as a small task. */
  #outbox: GivenTask[] = [];

  /** @param table Used to announce messages to the thread. */
  constructor(port: MessagePort, table: ThreadTable, owner: PortOwner) {
    this.#port = port;
    this.#table = table;
    this.#owner = owner;
    port.on("message", this.#receive);
    // Pending tasks keep the process alive, but the port does not.
    port.unref();
  }

  /**
   * Sends a task: immediately to an idle thread, otherwise together with other tasks of the same turn of the
   * event loop.
   */
  give(task: GivenTask, isIdle: boolean): void {
    this.#outbox.push(task);
    if (isIdle) this.#flush();
    else if (this.#outbox.length === 1) queueMicrotask(this.#flush);
  }

  /** Sends another message, after all earlier ones. */
  post(message: ToThread): void {
    this.#flush();
    this.#send(message);
  }

  readonly #flush = (): void => {
    const tasks = this.#outbox;
    if (tasks.length === 0) return;
    this.#outbox = [];
    try {
      this.#send(tasks);
    } catch {
      for (const task of tasks) this.#sendAlone(task);
    }
  };

  /** Sends a single task. One that cannot be cloned must not prevent other tasks from being sent. */
  #sendAlone(task: GivenTask): void {
    try {
      this.#send([task]);
    } catch (error) {
      this.#owner.onUnsent(task, error);
    }
  }

  #send(message: ToThread): void {
    this.#port.postMessage(message);
    this.#table.announceMessage();
  }

  /** Reads further messages directly, which costs less than an event for each. */
  readonly #receive = (message: FromThread): void => {
    this.#owner.onMessage(message);
    this.#receiveMore(SLOTS);
  };

  #receiveMore(most: number): void {
    for (let count = 0; count < most; count++) {
      const received = receiveMessageOnPort(this.#port) as { readonly message: FromThread } | undefined;
      if (received === undefined) return;
      this.#owner.onMessage(received.message);
    }
  }

  /** Drains pending messages, then closes. */
  close(): void {
    this.#receiveMore(Number.POSITIVE_INFINITY);
    this.#port.close();
  }
}
