import type { Labels, Metric, Sample } from "./prometheus-text.ts";

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
