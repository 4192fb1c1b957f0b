import type { ExecutorEndpoint } from "./endpoint.ts";

/** The executors behind one tool. Others may share some of them. */
export class ExecutorFleet {
  readonly #endpoints: readonly ExecutorEndpoint[];
  /** Among equals it goes round. */
  #turn = 0;

  /** @param endpoints At least one. */
  constructor(endpoints: readonly ExecutorEndpoint[]) {
    this.#endpoints = endpoints;
  }

  /**
   * The executor for a call: of those that are believed to take calls, and before those that had it already, the
   * one with the fewest calls.
   *
   * @returns `undefined` when none may be asked now.
   */
  choose(tried: ReadonlySet<ExecutorEndpoint>): ExecutorEndpoint | undefined {
    const [only] = this.#endpoints;
    const now = performance.now();
    for (const endpoint of this.#endpoints) endpoint.checkIfStale(now);
    if (this.#endpoints.length === 1) return only?.isWorking ? only : undefined;
    const working = this.#endpoints.filter((endpoint) => endpoint.isWorking);
    const rank = (endpoint: ExecutorEndpoint): number =>
      (tried.has(endpoint) ? 2 : 0) + (endpoint.isAvailable(now) ? 0 : 1);
    const best = Math.min(...working.map(rank));
    const candidates = working.filter((endpoint) => rank(endpoint) === best);
    const least = Math.min(...candidates.map(({ inFlight }) => inFlight));
    const idlest = candidates.filter(({ inFlight }) => inFlight === least);
    return idlest[this.#turn++ % idlest.length];
  }

  /** Whether one that did not have the call is believed to take it. */
  hasOther(tried: ReadonlySet<ExecutorEndpoint>): boolean {
    const now = performance.now();
    return this.#endpoints.some((endpoint) => !tried.has(endpoint) && endpoint.isAvailable(now));
  }

  /** Waits until it is known again which executors work, where none did. */
  async revive(): Promise<void> {
    await Promise.all(this.#endpoints.map((endpoint) => endpoint.check()));
  }

  /** What went wrong last with one of them. */
  get lastFault(): string {
    const faults = this.#endpoints.flatMap(({ lastFault }) => lastFault ?? []);
    return faults.at(-1) ?? "The tool's executor does not answer";
  }
}
