import { setTimeout as sleep } from "node:timers/promises";
import type { MaybePromise } from "../base/promises.ts";
import {
  type Backend,
  type Check,
  checkOf,
  type Entry,
  type Key,
  type OwnedRange,
  type Range,
  RecordError,
  type Write,
} from "./backend.ts";

/**
 * What is done with a backend, step by step: it yields what it has to wait for, and gets the value. Written so, the same operation
 * runs without a promise on a backend that returns none.
 */
export type Operation<Result> = Generator<MaybePromise<unknown>, Result, unknown>;

/** Waits for a value. */
export function* wait<Value>(value: MaybePromise<Value>): Generator<MaybePromise<unknown>, Value, unknown> {
  return (value instanceof Promise ? yield value : value) as Value;
}

/** Runs an operation. Returns a promise only if there is something to wait for. */
export function run<Result>(operation: Operation<Result>): MaybePromise<Result> {
  const step = operation.next();
  return step.done === true ? step.value : runLater(operation, step.value);
}

async function runLater<Result>(operation: Operation<Result>, first: MaybePromise<unknown>): Promise<Result> {
  for (let waited = first; ; ) {
    let step: IteratorResult<MaybePromise<unknown>, Result>;
    try {
      const value = await waited;
      step = operation.next(value);
    } catch (error) {
      step = operation.throw(error);
    }
    if (step.done === true) return step.value;
    waited = step.value;
  }
}

/** Reads entries, and gathers what is to be written if they are still the same then. */
export class Transaction {
  readonly #backend: Backend;
  readonly #checks: Check[] = [];
  readonly #writes: Write[] = [];

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Returns the entry of a key. Nothing is written if it has changed until then. */
  *entry<Value>(key: Key): Operation<Entry<Value> | undefined> {
    const [entries = []] = yield* this.entries<Value>({ key });
    return entries[0];
  }

  *get<Value>(key: Key): Operation<Value | undefined> {
    return (yield* this.entry<Value>(key))?.value;
  }

  /** Returns the entries of ranges. Nothing is written if one of them has changed until then. */
  *entries<Value>(...ranges: readonly OwnedRange[]): Operation<readonly (readonly Entry<Value>[])[]> {
    const read = yield* wait(this.#backend.read(ranges, true));
    if (!this.#backend.isSerial)
      for (const [index, range] of ranges.entries()) this.#checks.push(checkOf(range, read[index] ?? []));
    return read as readonly (readonly Entry<Value>[])[];
  }

  put(key: Key, value: unknown): void {
    this.#writes.push({ key, value });
  }

  remove(key: Key): void {
    this.#writes.push({ key, remove: true });
  }

  removeBelow(below: Key): void {
    this.#writes.push({ below, remove: true });
  }

  /** Writes what was gathered. Returns `false`, and has written nothing, if something that was read has changed. */
  *commit(): Operation<boolean> {
    // Without a write, it only waits until what was read is durable.
    const checks = this.#writes.length === 0 ? [] : this.#checks;
    const failed = yield* wait(this.#backend.apply({ checks, writes: this.#writes }));
    return failed === undefined;
  }
}

/** How often an operation is tried when others change what it has read. */
const MAX_TRIES = 100;
/** The longest pause before it is tried again, in ms. */
const MAX_PAUSE_MS = 50;

/**
 * Runs an operation that reads and writes as if nothing else happened meanwhile: if what it has read was changed, it runs again.
 *
 * @param body Must have no other effect than through its transaction.
 * @throws {RecordError} also as a rejection.
 */
export function transact<Result>(
  backend: Backend,
  body: (transaction: Transaction) => Operation<Result>,
): MaybePromise<Result> {
  return run(attempts(backend, body));
}

function* attempts<Result>(
  backend: Backend,
  body: (transaction: Transaction) => Operation<Result>,
): Operation<Result> {
  for (let tried = 0; tried < MAX_TRIES; tried++) {
    const transaction = new Transaction(backend);
    const result = yield* body(transaction);
    if (yield* transaction.commit()) return result;
    if (tried > 1) yield sleep(Math.random() * Math.min(2 ** tried, MAX_PAUSE_MS));
  }
  throw new RecordError("other processes change the same entries all the time: try again later");
}

/** Runs the operations of a store on a backend. */
export class Operations {
  readonly backend: Backend;
  readonly #failureOf: (error: RecordError) => Error;
  readonly #last = new Map<string, Promise<unknown>>();

  /** @param failureOf Returns the store's own error for one of the backend. */
  constructor(backend: Backend, failureOf: (error: RecordError) => Error) {
    this.backend = backend;
    this.#failureOf = failureOf;
  }

  /** Writes something whatever there was before. */
  apply(...writes: readonly Write[]): MaybePromise<void> {
    return this.#typed(() => this.backend.apply({ checks: [], writes }) as MaybePromise<undefined>);
  }

  /** Runs an operation that writes, as if nothing else happened meanwhile. */
  write<Result>(body: (transaction: Transaction) => Operation<Result>): MaybePromise<Result> {
    return this.#typed(() => transact(this.backend, body));
  }

  /**
   * The same, after those of this process with the same key: they would change what the others have read. A backend that is
   * serial runs them in order anyway, and writes them together.
   */
  writeInOrder<Result>(
    key: string,
    body: (transaction: Transaction) => Operation<Result>,
  ): MaybePromise<Result> {
    if (this.backend.isSerial) return this.write(body);
    const before = this.#last.get(key);
    const result = before === undefined ? this.write(body) : before.then(() => this.write(body));
    if (!(result instanceof Promise)) return result;
    const settled = result.then(
      () => {},
      () => {},
    );
    this.#last.set(key, settled);
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return result;
  }

  /** Reads ranges, and makes something of their entries. */
  read<Result>(
    ranges: readonly Range[],
    // biome-ignore lint/suspicious/noExplicitAny: each caller knows what its ranges have.
    make: (...entries: (readonly Entry<any>[])[]) => Result,
  ): MaybePromise<Result> {
    return this.#typed(() => {
      const read = this.backend.read(ranges);
      return read instanceof Promise ? read.then((entries) => make(...entries)) : make(...read);
    });
  }

  /** Runs an operation that reads several times. */
  readMore<Result>(operation: () => Operation<Result>): MaybePromise<Result> {
    return this.#typed(() => run(operation()));
  }

  #typed<Result>(action: () => MaybePromise<Result>): MaybePromise<Result> {
    const fail = (thrown: unknown): never => {
      throw thrown instanceof RecordError ? this.#failureOf(thrown) : thrown;
    };
    try {
      const result = action();
      return result instanceof Promise ? result.catch(fail) : result;
    } catch (thrown) {
      return fail(thrown);
    }
  }
}

/** Sorts entries in the order in which they were added. */
export function inOrder<Value>(entries: readonly Entry<Value>[]): readonly Value[] {
  return [...entries].sort((one, other) => one.created - other.created).map(({ value }) => value);
}
