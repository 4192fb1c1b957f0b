import { readFileSync, writeFileSync } from "node:fs";
import type { Report } from "./report.ts";

/** Ratios by question and case, which are nearly the same on every machine. */
export type Baseline = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** A case's ratio, compared to that of the baseline. */
export interface BesideBaseline {
  readonly question: string;
  readonly name: string;
  readonly baseline: number;
  readonly ratio: number;
}

/**
 * A ratio that is worse than the baseline's by this factor fails. Busy machines have shown factors of up to 2.4 for
 * calls that wake a thread.
 */
export const WORST_FACTOR = 3;

/** Lower ratios are ignored, because the cost is negligible compared to the floor. */
const LEAST_RATIO = 0.05;

const FILE = new URL("../baseline.json", import.meta.url);

/** Reads the committed baseline. */
export function readBaseline(): Baseline {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

/** Writes a run's ratios to the baseline, and keeps those of questions that were not part of the run. */
export function writeBaseline(report: Report): void {
  const ratios = report.questions.map(({ name, figures }) => {
    const own = figures.filter(
      (figure) => figure.name !== figure.floor && !figure.isPeer && figure.ratio > LEAST_RATIO,
    );
    return [name, Object.fromEntries(own.map(({ name, ratio }) => [name, Number(ratio.toPrecision(3))]))];
  });
  const baseline = { ...readBaseline(), ...Object.fromEntries(ratios) };
  writeFileSync(FILE, `${JSON.stringify(baseline, null, 2)}\n`);
}

/** Returns the cases that both the run and the baseline have. */
export function besideBaseline(report: Report, baseline: Baseline): BesideBaseline[] {
  return report.questions.flatMap(({ name: question, figures }) =>
    figures.flatMap(({ name, ratio }) => {
      const known = baseline[question]?.[name];
      return known === undefined ? [] : [{ question, name, baseline: known, ratio }];
    }),
  );
}

/** Whether a ratio is so much worse than the baseline's that the run must fail. */
export function isFarWorse({ baseline, ratio }: BesideBaseline): boolean {
  return ratio > baseline * WORST_FACTOR;
}

/** Returns the ratios and those of the baseline as a Markdown table. */
export function baselineTable(all: readonly BesideBaseline[]): string {
  const rows = all.map((each) => {
    const { question, name, baseline, ratio } = each;
    const factor = (ratio / baseline).toFixed(2);
    const mark = isFarWorse(each) ? "**far worse**" : "";
    return `| ${question} | ${name} | ${baseline.toFixed(2)} | ${ratio.toFixed(2)} | ${factor} | ${mark} |`;
  });
  return `| question | case | baseline | ratio | factor | |\n|---|---|--:|--:|--:|---|\n${rows.join("\n")}`;
}
