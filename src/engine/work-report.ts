import { beginning, UNPRINTABLE } from "../base/text.ts";
import type { CallEffect } from "../sandboxes/contract/outcome.ts";
import type { TaskObserver } from "../sandboxes/contract/sandbox.ts";
import type { Display, LogLevel } from "../tool/streamed.ts";
import type { ErrorCode } from "./errors.ts";

/** What a tool did: plain JSON. */
export interface Work {
  /** The first calls, and the last ones; at most 50 of each. */
  readonly calls: readonly NestedWork[];
  /** How many calls were made between them. */
  readonly omittedCalls: number;
  /** The beginning and the end of the log, a line each. */
  readonly log: readonly string[];
  /** How many lines were logged between them. */
  readonly omittedLines: number;
}

/** The outcome of a call that a tool made of another one. */
export interface NestedWork {
  readonly tool: string;
  /** `"allowed"`, or who allowed it, or why it did not run. */
  readonly decision: "allowed" | "denied" | "not run" | { readonly allowedBy: string };
  /** What it left behind. A call that succeeded counts as `committed` unless its tool declares that it changes nothing. */
  readonly effect: CallEffect;
  /** Why it failed; absent if it succeeded. */
  readonly code?: ErrorCode;
}

/** How many calls are retained of the first ones, and of the last ones. */
const MAX_FIRST_CALLS = 50;

const MAX_LAST_CALLS = 50;

/** How many characters of the log are retained of its beginning, and of its end. */
const MAX_LOG_HEAD = 2_000;

const MAX_LOG_TAIL = 2_000;

/** The longest line that is retained. */
const MAX_LINE = 1_000;

/** Collects what a tool does, for the model to read with the result, and passes it on. */
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

  /** What was done so far, without the calls of these numbers: whatever continues from here receives them again. */
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

/** The first and the last items, up to a size of each, and the number of those omitted between them. */
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

/**
 * Returns the text that the model reads. The calls come last, and are named if there are none: whatever a tool writes into its
 * output and its log cannot be taken for them.
 */
export function workText({ calls, omittedCalls, log, omittedLines }: Work): string {
  const logged = log.length === 0 ? [] : ["Log:", ...logLines(log, omittedLines)];
  const made = calls.length === 0 ? ["Calls made: none"] : ["Calls made:", ...callLines(calls, omittedCalls)];
  return [...logged, ...made].join("\n");
}

function callLines(calls: readonly NestedWork[], omitted: number): readonly string[] {
  const lines = calls.map(({ tool, decision, effect, code }) => {
    const decided = typeof decision === "string" ? decision : `allowed by ${decision.allowedBy}`;
    const failed = code === undefined ? "" : `, failed (${code})`;
    return `- ${nameOf(tool)}: ${decided}${failed}, effect ${effect}`;
  });
  return omitted === 0 ? lines : lines.toSpliced(MAX_FIRST_CALLS, 0, `[… ${omitted} calls left out …]`);
}

function logLines(log: readonly string[], omitted: number): readonly string[] {
  if (omitted === 0) return log;
  let size = 0;
  const first = log.findIndex((line) => {
    size += line.length + 1;
    return size > MAX_LOG_HEAD;
  });
  return log.toSpliced(first, 0, `[… ${omitted} lines left out …]`);
}

/** A name can be anything that the program asked for. */
function nameOf(name: string): string {
  const clean = name.replace(UNPRINTABLE, "\ufffd");
  return clean.length <= 64 ? clean : `${beginning(clean, 63)}…`;
}
