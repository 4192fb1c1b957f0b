import type { Operation, OperationResult } from "../objects/several.ts";

interface Waiting extends Operation {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** How operations are run. */
export interface OperationRunner {
  /** Runs one operation, and resolves with its result. */
  readonly run: (operation: Operation) => Promise<unknown>;
  /** Runs operations one after the other, at least the first one. Those without a result were not run. */
  readonly runSome: (operations: readonly Operation[]) => Promise<readonly OperationResult[]>;
  /** Whether an operation can be run together with others. */
  readonly canJoin: (operation: Operation) => boolean;
  /** Returns the error of an operation that its handler refused. */
  readonly refuse: (message: string, status: number) => Error;
  /** Whether operations were refused together because they are too long, so that none was run. */
  readonly isTooLong: (error: unknown) => boolean;
  /** Is told when nothing waits or runs any longer. */
  readonly onIdle: () => void;
}

/** How many operations run together at most, and how long the JSON of their inputs is. */
const MAX_OPERATIONS = 64;
const MAX_LENGTH = 8_000_000;

/**
 * The operations of this process on one object, in the order in which they came: requests at once would reach the object in
 * any order. Those that come while one runs are run together.
 */
export class OperationQueue {
  readonly #runner: OperationRunner;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(runner: OperationRunner) {
    this.#runner = runner;
  }

  add<Result>(operation: Operation): Promise<Result> {
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.push({ ...operation, resolve, reject });
      if (!this.#isRunning) void this.#work();
    }) as Promise<Result>;
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const next = this.#next();
      if (next.length === 1) await this.#runOne(next[0] as Waiting);
      else await this.#runSome(next);
    }
    this.#isRunning = false;
    this.#runner.onIdle();
  }

  /** Takes the operations that are run next. */
  #next(): readonly Waiting[] {
    let count = 0;
    let length = 0;
    for (const operation of this.#waiting) {
      if (count === MAX_OPERATIONS || !this.#runner.canJoin(operation)) break;
      if (this.#waiting.length > 1) length += lengthOf(operation);
      if (length > MAX_LENGTH) break;
      count++;
    }
    return this.#waiting.splice(0, Math.max(count, 1));
  }

  async #runOne({ resolve, reject, ...operation }: Waiting): Promise<void> {
    try {
      resolve(await this.#runner.run(operation));
    } catch (error) {
      reject(error);
    }
  }

  async #runSome(operations: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#runner.runSome(
        operations.map(({ handler, input }) => ({ handler, input })),
      );
      for (const [index, outcome] of results.entries()) {
        const { resolve, reject } = operations[index] as Waiting;
        if ("refused" in outcome) reject(this.#runner.refuse(outcome.refused, outcome.status));
        else resolve(outcome.result);
      }
      this.#waiting.unshift(...operations.slice(results.length));
    } catch (error) {
      if (this.#runner.isTooLong(error)) for (const each of operations) await this.#runOne(each);
      else for (const { reject } of operations) reject(error);
    }
  }
}

/** The length of the JSON of an operation's input. One that cannot be sent runs alone, and so fails alone. */
function lengthOf({ input }: Operation): number {
  try {
    return JSON.stringify(input)?.length ?? 0;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
