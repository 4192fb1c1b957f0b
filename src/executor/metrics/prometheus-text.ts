import { OTHER } from "./label-values.ts";

/** The labels of a sample: names and values. */
export type Labels = Readonly<Record<string, string>>;

/** One value of a metric. */
export interface Sample {
  /** What its name adds to that of the metric, such as `_count`. Default: nothing. */
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
 * Returns metrics in which the other callers are one, `other`, with the sum of what is theirs: a client must not see who
 * the others are.
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
