import type { ExecutorEndpoint } from "./endpoint.ts";

/** The executors of one tool. Other tools may share some of them. */
export class ExecutorFleet {
  readonly #endpoints: readonly ExecutorEndpoint[];
  /** Equally suitable executors take turns. */
  #turn = 0;

  /** @param endpoints At least one. */
  constructor(endpoints: readonly ExecutorEndpoint[]) {
    this.#endpoints = endpoints;
  }

  /**
   * Chooses the executor for a call. Executors that did not have the call come first, then those that are expected to
   * accept calls, then those with the fewest calls.
   *
   * @returns `undefined` if all circuit breakers are open.
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

  /** Whether an executor that did not have the call is expected to accept it. */
  hasOther(tried: ReadonlySet<ExecutorEndpoint>): boolean {
    const now = performance.now();
    return this.#endpoints.some((endpoint) => !tried.has(endpoint) && endpoint.isAvailable(now));
  }

  /** Waits for a health check of all executors, after none was working. */
  async revive(): Promise<void> {
    await Promise.all(this.#endpoints.map((endpoint) => endpoint.check()));
  }

  /** The most recent fault of one of them, for the model. */
  get lastFault(): string {
    const faults = this.#endpoints.flatMap(({ lastFault }) => lastFault ?? []);
    return faults.at(-1) ?? "The tool's executor does not respond";
  }
}
