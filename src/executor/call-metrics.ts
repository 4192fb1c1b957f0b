import { type Labels, LabelValues, type Metric, OTHER } from "../http/prometheus-text.ts";

/** Maximum number of values of each label. */
export const MAX_TOOLS = 200;
/** Maximum number of callers with values of their own. */
export const MAX_CALLERS = 50;
/** Maximum number of combinations of labels. */
export const MAX_COMBINATIONS = 5_000;

/** The end of a call. */
export interface EndedCall {
  readonly tool: string;
  /** Where it ran; `null` if it did not run. */
  readonly sandbox: string | null;
  /** The id of the principal; `undefined` if it is not known. */
  readonly caller: string | undefined;
  /** `ok`, or the code of its error. */
  readonly outcome: string;
  /** How long the caller waited. */
  readonly durationMs: number;
}

interface Counted {
  readonly labels: Labels;
  count: number;
}

/** Counts calls by tool, sandbox, caller and outcome. Models and callers cannot make more than a bounded number of series. */
export class CallMetrics {
  readonly #tools = new LabelValues(MAX_TOOLS);
  readonly #callers = new LabelValues(MAX_CALLERS);
  readonly #counts = new Map<string, Counted>();
  readonly #durations = new Map<string, { count: number; seconds: number }>();

  /** @param isKnown Whether there is such a tool: models can call tools that do not exist. */
  ended({ tool, sandbox, caller, outcome, durationMs }: EndedCall, isKnown: boolean): void {
    const name = isKnown ? this.#tools.of(tool) : OTHER;
    const ran = sandbox ?? "none";
    this.#count({
      tool: name,
      sandbox: ran,
      caller: caller === undefined ? "" : this.#callers.of(caller),
      outcome,
    });
    const duration = this.#durations.get(name) ?? { count: 0, seconds: 0 };
    duration.count++;
    duration.seconds += durationMs / 1_000;
    this.#durations.set(name, duration);
  }

  #count(labels: Labels & { readonly outcome: string }): void {
    const key = JSON.stringify(Object.values(labels));
    let counted = this.#counts.get(key);
    if (counted === undefined && this.#counts.size >= MAX_COMBINATIONS) {
      const rest = { tool: OTHER, sandbox: OTHER, caller: OTHER, outcome: labels.outcome };
      const restKey = JSON.stringify(Object.values(rest));
      counted = this.#counts.get(restKey) ?? { labels: rest, count: 0 };
      this.#counts.set(restKey, counted);
    }
    if (counted === undefined) {
      counted = { labels, count: 0 };
      this.#counts.set(key, counted);
    }
    counted.count++;
  }

  get metrics(): readonly Metric[] {
    return [
      {
        name: "sandgate_calls_total",
        type: "counter",
        help: "Calls that ended, by tool, sandbox, caller and outcome.",
        samples: Array.from(this.#counts.values(), ({ labels, count }) => ({ labels, value: count })),
      },
      {
        name: "sandgate_call_seconds",
        type: "summary",
        help: "Seconds that calls took, by tool.",
        samples: Array.from(this.#durations, ([tool, { count, seconds }]) => [
          { suffix: "_sum" as const, labels: { tool }, value: seconds },
          { suffix: "_count" as const, labels: { tool }, value: count },
        ]).flat(),
      },
    ];
  }
}
