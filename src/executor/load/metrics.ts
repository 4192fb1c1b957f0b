/** Upper bounds of the histogram's buckets, in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Current values, which are not counted here. */
export interface Gauges {
  readonly inFlight: number;
  readonly queued: number;
  readonly rememberedCalls: number;
  readonly rememberedBytes: number;
  readonly isDraining: boolean;
}

/**
 * Counts an executor's work, and writes it as Prometheus text. Callers cannot choose the values of labels.
 */
export class ExecutorMetrics {
  readonly #executions = new Map<string, number>();
  readonly #problems = new Map<string, number>();
  readonly #buckets = new Array<number>(BUCKETS.length).fill(0);
  #seconds = 0;
  #dispatched = 0;
  #replayed = 0;

  /**
   * Counts an execution.
   *
   * @param outcome `ok`, or the code of its error.
   * @param ms Milliseconds from the call's arrival to its execution.
   */
  executed(outcome: string, ms: number): void {
    increment(this.#executions, outcome);
    const seconds = ms / 1_000;
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#seconds += seconds;
    this.#dispatched++;
  }

  /** Counts a request that was answered with a problem. */
  refused(code: string): void {
    increment(this.#problems, code);
  }

  /** Counts a request for a call that has run before, or is running. */
  replayed(): void {
    this.#replayed++;
  }

  /** Returns the metrics in the text exposition format, version 0.0.4. */
  write(gauges: Gauges): string {
    let below = 0;
    const buckets = BUCKETS.map((bound, index) => {
      below += this.#buckets[index] ?? 0;
      return `sandgate_dispatch_seconds_bucket{le="${bound}"} ${below}`;
    });
    return [
      ...metric("executions_total", "counter", "Executions, by outcome: ok, or the error's code."),
      ...labelled("executions_total", "outcome", this.#executions),
      ...metric("problems_total", "counter", "Requests answered with a problem, by code."),
      ...labelled("problems_total", "code", this.#problems),
      ...value(
        "replays_total",
        "counter",
        "Requests for a call that already ran or was running.",
        this.#replayed,
      ),
      ...value("calls_in_flight", "gauge", "Running calls.", gauges.inFlight),
      ...value("calls_queued", "gauge", "Queued calls.", gauges.queued),
      ...value("calls_remembered", "gauge", "Ended calls whose executions are kept.", gauges.rememberedCalls),
      ...value(
        "answers_remembered_bytes",
        "gauge",
        "Bytes of the executions that are kept.",
        gauges.rememberedBytes,
      ),
      ...value("draining", "gauge", "1 while the executor is shutting down.", gauges.isDraining ? 1 : 0),
      ...metric("dispatch_seconds", "histogram", "Seconds from a call's arrival to its execution."),
      ...buckets,
      `sandgate_dispatch_seconds_bucket{le="+Inf"} ${this.#dispatched}`,
      `sandgate_dispatch_seconds_sum ${this.#seconds}`,
      `sandgate_dispatch_seconds_count ${this.#dispatched}`,
      "",
    ].join("\n");
  }
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function metric(name: string, type: string, help: string): string[] {
  return [`# HELP sandgate_${name} ${help}`, `# TYPE sandgate_${name} ${type}`];
}

function value(name: string, type: string, help: string, amount: number): string[] {
  return [...metric(name, type, help), `sandgate_${name} ${amount}`];
}

function labelled(name: string, label: string, counts: ReadonlyMap<string, number>): string[] {
  return Array.from(counts, ([key, count]) => `sandgate_${name}{${label}="${key}"} ${count}`);
}
