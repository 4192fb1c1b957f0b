import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { FromThread, GivenTask, ToThread } from "./thread-message.ts";
import { SLOTS, type ThreadTable } from "./thread-table.ts";

/** Whoever is told what comes through a port, and what does not. */
export interface PortOwner {
  onMessage(message: FromThread): void;
  /** A task cannot be sent: what it consists of does not cross to a thread. */
  onUnsent(task: GivenTask, error: unknown): void;
}

/** The pool's end of the channel to one of its threads. */
export class ThreadPort {
  readonly #port: MessagePort;
  readonly #table: ThreadTable;
  readonly #owner: PortOwner;
  /** Tasks that are sent together: a message costs as much as a small task. */
  #outbox: GivenTask[] = [];

  /** @param table Where the thread sees that something was sent. */
  constructor(port: MessagePort, table: ThreadTable, owner: PortOwner) {
    this.#port = port;
    this.#table = table;
    this.#owner = owner;
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
    const tasks = this.#outbox;
    if (tasks.length === 0) return;
    this.#outbox = [];
    try {
      this.#send(tasks);
    } catch {
      for (const task of tasks) this.#sendAlone(task);
    }
  };

  /** One that does not cross must not keep the others from it. */
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

  /** An event for each message costs more than to look for those that came with it. */
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

  /** Takes in what the thread said last, and is closed then. */
  close(): void {
    this.#receiveMore(Number.POSITIVE_INFINITY);
    this.#port.close();
  }
}
