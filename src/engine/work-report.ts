import { beginning } from "../base/text.ts";
import type { TaskObserver } from "../sandboxes/contract/task.ts";
import type { Display } from "../tool/display.ts";
import type { LogLevel } from "../tool/log-level.ts";
import {
  MAX_FIRST_CALLS,
  MAX_LAST_CALLS,
  MAX_LOG_HEAD,
  MAX_LOG_TAIL,
  type NestedWork,
  type Work,
} from "./work.ts";

/** Keeps the first items and the last ones, up to a size of each, and counts the others. */
export class FirstAndLast<Item> {
  readonly #maxFirst: number;
  readonly #maxLast: number;
  readonly #sizeOf: (item: Item) => number;
  readonly #first: Item[] = [];
  #last: Item[] = [];
  #firstSize = 0;
  #lastSize = 0;
  omitted = 0;

  constructor(maxFirst: number, maxLast: number, sizeOf: (item: Item) => number) {
    this.#maxFirst = maxFirst;
    this.#maxLast = maxLast;
    this.#sizeOf = sizeOf;
  }

  get items(): readonly Item[] {
    return [...this.#first, ...this.#last];
  }

  /** Adds items of an earlier report, some of which were omitted. */
  addAll(items: readonly Item[], omitted: number): void {
    for (const item of items) this.add(item);
    this.omitted += omitted;
  }

  add(item: Item): void {
    const size = this.#sizeOf(item);
    if (this.#last.length === 0 && this.#firstSize + size <= this.#maxFirst) {
      this.#first.push(item);
      this.#firstSize += size;
      return;
    }
    this.#last.push(item);
    this.#lastSize += size;
    let dropped = 0;
    while (this.#lastSize > this.#maxLast && dropped < this.#last.length - 1) {
      this.#lastSize -= this.#sizeOf(this.#last[dropped++] as Item);
    }
    if (dropped === 0) return;
    this.#last = this.#last.slice(dropped);
    this.omitted += dropped;
  }
}

/** The longest line that is retained. */
const MAX_LINE = 1_000;

/** Keeps what a tool does, besides passing it on: for the model, which reads it with the result. */
export class WorkReport implements TaskObserver {
  readonly #observer: TaskObserver;
  readonly #calls = new FirstAndLast<NestedWork>(MAX_FIRST_CALLS, MAX_LAST_CALLS, () => 1);
  readonly #numbers = new WeakMap<NestedWork, number>();
  readonly #log = new FirstAndLast<string>(MAX_LOG_HEAD, MAX_LOG_TAIL, (line) => line.length + 1);

  /** @param before What the tool did before it was suspended. Default: nothing. */
  constructor(observer: TaskObserver, before?: Work) {
    this.#observer = observer;
    if (before === undefined) return;
    this.#calls.addAll(before.calls, before.omittedCalls);
    this.#log.addAll(before.log, before.omittedLines);
  }

  /**
   * Receives a call of another tool that has ended.
   *
   * @param number Counts the calls of the tool.
   */
  called(work: NestedWork, number: number): void {
    this.#calls.add(work);
    this.#numbers.set(work, number);
  }

  output(chunk: string): void {
    this.#observer.output(chunk);
  }

  log(level: LogLevel, message: string): void {
    const text = message.length <= MAX_LINE ? message : `${beginning(message, MAX_LINE - 1)}…`;
    this.#log.add(level === "info" ? text : `[${level}] ${text}`);
    this.#observer.log(level, message);
  }

  display(display: Display): void {
    this.#observer.display?.(display);
  }

  /** What was done so far, without the calls of these numbers: whatever goes on from here receives them again. */
  workWithout(numbers: readonly number[]): Work {
    const { calls, ...rest } = this.work;
    const left = new Set<number | undefined>(numbers);
    return { ...rest, calls: calls.filter((call) => !left.has(this.#numbers.get(call))) };
  }

  /** What was done so far. */
  get work(): Work {
    return {
      calls: this.#calls.items,
      omittedCalls: this.#calls.omitted,
      log: this.#log.items,
      omittedLines: this.#log.omitted,
    };
  }
}
