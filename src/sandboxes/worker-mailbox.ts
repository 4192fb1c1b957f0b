import type { TaskObserver } from "./sandbox.ts";
import type { ThreadMessage } from "./worker-thread.ts";

/** Takes the messages of one task in a thread to its observer. */
export class Mailbox {
  readonly #observer: TaskObserver;
  #count = 0;
  #expected = 0;
  #complete: (() => void) | undefined;

  constructor(observer: TaskObserver) {
    this.#observer = observer;
  }

  deliver(message: ThreadMessage): void {
    if (message.type === "output") this.#observer.output(message.chunk);
    else this.#observer.log(message.level, message.message);
    this.#count++;
    if (this.#count >= this.#expected) this.#complete?.();
  }

  /** Waits until so many messages were delivered: a task's result may overtake what it told before. */
  async received(count: number): Promise<void> {
    if (this.#count >= count) return;
    this.#expected = count;
    await new Promise<void>((resolve) => {
      this.#complete = resolve;
    });
  }

  /** Nothing more will come. */
  close(): void {
    this.#complete?.();
  }
}
