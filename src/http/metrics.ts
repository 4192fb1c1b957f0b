/** Upper bounds of the buckets of calls, in seconds. */
export const CALL_SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];

/** The counts of one combination of labels. */
interface Counted {
  readonly labels: Labels;
  readonly buckets: number[];
  count: number;
  seconds: number;
}

/** Counts durations by how long they are. */
export class Histogram {
  readonly #name: string;
  readonly #help: string;
  /** In seconds, ascending. */
  readonly #bounds: readonly number[];
  readonly #counted = new Map<string, Counted>();

  /**
   * @param bounds The upper bounds of the buckets in seconds, ascending, without infinity.
   * @param first The labels that are shown before something is observed. Default: none, as of a histogram without labels.
   */
  constructor(name: string, help: string, bounds: readonly number[], first: readonly Labels[] = [{}]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
    for (const labels of first) this.#of(labels);
  }

  /** @param labels Their values must be bounded in number. */
  observe(seconds: number, labels: Labels = {}): void {
    const counted = this.#of(labels);
    const bucket = this.#bounds.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) counted.buckets[bucket] = (counted.buckets[bucket] ?? 0) + 1;
    counted.seconds += seconds;
    counted.count++;
  }

  #of(labels: Labels): Counted {
    const key = JSON.stringify(Object.values(labels));
    let counted = this.#counted.get(key);
    if (counted === undefined) {
      counted = { labels, buckets: this.#bounds.map(() => 0), count: 0, seconds: 0 };
      this.#counted.set(key, counted);
    }
    return counted;
  }

  get metric(): Metric {
    const samples = Array.from(this.#counted.values(), (counted) => this.#samplesOf(counted)).flat();
    return { name: this.#name, type: "histogram", help: this.#help, samples };
  }

  #samplesOf({ labels, buckets, count, seconds }: Counted): readonly Sample[] {
    let below = 0;
    const samples: Sample[] = this.#bounds.map((bound, index) => {
      below += buckets[index] ?? 0;
      return { suffix: "_bucket", labels: { ...labels, le: String(bound) }, value: below };
    });
    return [
      ...samples,
      { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: count },
      { suffix: "_sum", labels, value: seconds },
      { suffix: "_count", labels, value: count },
    ];
  }
}

/** The value of a label for all values that are not counted separately. */
export const OTHER = "other";

/** The longest value of a label, in UTF-16 code units. */
const MAX_LENGTH = 128;

/** The values of a label that are counted separately: the first ones that occur. */
export class LabelValues {
  readonly #known = new Set<string>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns a value, or {@link OTHER} if there are too many, or it is too long. */
  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (value.length > MAX_LENGTH || this.#known.size >= this.#max) return OTHER;
    this.#known.add(value);
    return value;
  }
}

/** The labels of a sample: names and values. */
export type Labels = Readonly<Record<string, string>>;

/** One value of a metric. */
export interface Sample {
  /** Appended to the name of the metric, such as `_count`. Default: nothing. */
  readonly suffix?: "_bucket" | "_count" | "_sum";
  readonly labels?: Labels;
  readonly value: number;
}

/** A metric in the text exposition format of Prometheus, version 0.0.4. */
export interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** Returns metrics as text. */
export function writeMetrics(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, type, help, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(
      ({ suffix = "", labels = {}, value }) => `${name}${suffix}${writeLabels(labels)} ${value}`,
    ),
  ]);
  return `${lines.join("\n")}\n`;
}

/** Returns a metric with one value. */
export function single(name: string, type: "counter" | "gauge", help: string, value: number): Metric {
  return { name, type, help, samples: [{ value }] };
}

function writeLabels(labels: Labels): string {
  const written = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return written.length === 0 ? "" : `{${written.join(",")}}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/**
 * Sums the samples of other callers under `other`: a client must not see who they are.
 *
 * @param caller The id of the principal who reads them.
 */
export function withoutOthers(metrics: readonly Metric[], caller: string | undefined): readonly Metric[] {
  return metrics.map((metric) => {
    const samples = new Map<string, Sample>();
    for (const sample of metric.samples) {
      const { suffix, labels, value } = sample;
      const named = labels?.["caller"];
      const isOther = named !== undefined && named !== "" && named !== caller;
      const shown = isOther ? { ...labels, caller: OTHER } : labels;
      const key = JSON.stringify([suffix, shown]);
      const before = samples.get(key)?.value ?? 0;
      samples.set(key, { ...sample, ...(shown && { labels: shown }), value: before + value });
    }
    return { ...metric, samples: [...samples.values()] };
  });
}

/** Returns the largest counts with their names, and the sum of all others as {@link OTHER}. */
export function largest(counts: ReadonlyMap<string, number>, max: number): ReadonlyMap<string, number> {
  const ranked = [...counts].sort(([, one], [, two]) => two - one);
  const result = new Map<string, number>();
  for (const [name, count] of ranked) {
    const key = name.length > MAX_LENGTH || result.size >= max ? OTHER : name;
    result.set(key, (result.get(key) ?? 0) + count);
  }
  return result;
}

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

/** Counts calls by tool, sandbox, caller and outcome. Models and callers cannot make more than a bounded number of series. */
export class CallMetrics {
  readonly #tools = new LabelValues(MAX_TOOLS);
  readonly #callers = new LabelValues(MAX_CALLERS);
  readonly #counts = new Map<string, { readonly labels: Labels; count: number }>();
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

/** Counts what a server refuses. */
export class HttpMetrics {
  readonly #problems = new Map<string, number>();
  #refusedConnections = 0;
  #refusedHandshakes = 0;

  /** Counts a request that was answered with a problem. */
  refused(code: string): void {
    increment(this.#problems, code);
  }

  /** Counts a connection that was closed because there are too many. */
  connectionRefused(): void {
    this.#refusedConnections++;
  }

  /** Counts a connection whose TLS handshake failed. */
  refusedHandshake(): void {
    this.#refusedHandshakes++;
  }

  read(): readonly Metric[] {
    return [
      labelled("problems_total", "Requests answered with a problem, by code.", { code: this.#problems }),
      single(
        "sandgate_connections_refused_total",
        "counter",
        "Connections that were closed because there were too many.",
        this.#refusedConnections,
      ),
      single(
        "sandgate_tls_handshakes_refused_total",
        "counter",
        "Connections whose TLS handshake failed.",
        this.#refusedHandshakes,
      ),
    ];
  }
}

export function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** A counter with one label. */
export function labelled(
  name: string,
  help: string,
  counted: Record<string, ReadonlyMap<string, number>>,
): Metric {
  const samples = Object.entries(counted).flatMap(([label, counts]) =>
    Array.from(counts, ([key, value]) => ({ labels: { [label]: key }, value })),
  );
  return { name: `sandgate_${name}`, type: "counter", help, samples };
}
