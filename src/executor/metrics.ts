import type { DispatchContext } from "../engine/call/context.ts";
import type { CallJournal } from "../engine/call/journal.ts";
import {
  CALL_SECONDS,
  CallMetrics,
  type EndedCall,
  Histogram,
  increment,
  labelled,
  largest,
  MAX_CALLERS,
  type Metric,
  single,
} from "../http/metrics.ts";

/** Current values, which are not counted here. */
export interface Gauges {
  readonly inFlight: number;
  readonly queued: number;
  /** The queued calls, by the ids of their principals. */
  readonly queuedByCaller: ReadonlyMap<string, number>;
  readonly rememberedCalls: number;
  readonly rememberedBytes: number;
  readonly isDraining: boolean;
  readonly journal: CallJournal | undefined;
  readonly sandboxes: ReturnType<NonNullable<DispatchContext["sandboxes"]["stats"]>> | undefined;
}

/**
 * Counts an executor's work. Callers cannot choose the values of labels, except the names of existing tools.
 */
export class ExecutorMetrics {
  readonly calls: CallMetrics = new CallMetrics();
  readonly #executions = new Map<string, number>();
  readonly #seconds = new Histogram(
    "sandgate_dispatch_seconds",
    "Seconds from a call's arrival to its execution.",
    CALL_SECONDS,
  );
  #replayed = 0;

  /** Counts an execution. Its `durationMs` is from the call's arrival. */
  executed(call: EndedCall, isKnownTool: boolean): void {
    increment(this.#executions, call.outcome);
    this.calls.ended(call, isKnownTool);
    this.#seconds.observe(call.durationMs / 1_000);
  }

  /** Counts a request for a call that has run before, or is running. */
  replayed(): void {
    this.#replayed++;
  }

  read(gauges: Gauges): readonly Metric[] {
    return [
      labelled("executions_total", "Executions of this executor, by outcome: ok, or the error's code.", {
        outcome: this.#executions,
      }),
      single(
        "sandgate_replays_total",
        "counter",
        "Requests for a call that already ran or was running.",
        this.#replayed,
      ),
      ...this.calls.metrics,
      ...gaugesOf(gauges),
      this.#seconds.metric,
    ];
  }
}

function gaugesOf(gauges: Gauges): readonly Metric[] {
  const gauge = (name: string, help: string, value: number): Metric =>
    single(`sandgate_${name}`, "gauge", help, value);
  const { journal, sandboxes } = gauges;
  return [
    gauge("calls_in_flight", "Running calls.", gauges.inFlight),
    gauge("calls_queued", "Queued calls.", gauges.queued),
    {
      name: "sandgate_caller_calls_queued",
      type: "gauge",
      help: "Queued calls, by caller.",
      samples: Array.from(largest(gauges.queuedByCaller, MAX_CALLERS), ([caller, value]) => ({
        labels: { caller },
        value,
      })),
    },
    gauge("calls_remembered", "Ended calls whose executions are kept.", gauges.rememberedCalls),
    gauge("answers_remembered_bytes", "Bytes of the executions that are kept.", gauges.rememberedBytes),
    gauge("draining", "1 while the executor is shutting down.", gauges.isDraining ? 1 : 0),
    ...(sandboxes === undefined
      ? []
      : [
          gauge("calls_waiting_for_thread", "Calls that wait for a thread.", sandboxes.waiting),
          gauge("calls_abandoned", "Calls that could not be ended and still run.", sandboxes.abandoned),
        ]),
    ...(journal === undefined ? [] : journalMetrics(journal)),
  ];
}

function journalMetrics({ problem, backlog, lost = 0 }: CallJournal): readonly Metric[] {
  const { records = 0, oldestMs = 0 } = backlog ?? {};
  const metric = (name: string, help: string, value: number, type: "counter" | "gauge" = "gauge"): Metric =>
    single(`sandgate_journal_${name}`, type, help, value);
  return [
    metric("healthy", "0 while the journal cannot be written.", problem === undefined ? 1 : 0),
    metric("waiting_records", "Records that are not in the journal yet.", records),
    metric("lag_seconds", "The age of the oldest of these records.", oldestMs / 1_000),
    metric("lost_records_total", "Records that could neither be written nor buffered.", lost, "counter"),
  ];
}
