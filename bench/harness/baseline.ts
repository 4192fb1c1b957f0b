import { readFileSync, writeFileSync } from "node:fs";
import type { Report } from "./report.ts";

/** Ratios alone, by question and case: they say the same on every machine, or nearly so. */
export type Baseline = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** A case's ratio beside that of the baseline. */
export interface BesideBaseline {
  readonly question: string;
  readonly name: string;
  readonly baseline: number;
  readonly ratio: number;
}

/** A ratio worse than this many times that of the baseline fails: no noise of a shared machine explains it. */
export const WORST_FACTOR = 2;

/** What costs next to nothing beside its floor has a ratio that says nothing. */
const LEAST_RATIO = 0.05;

const FILE = new URL("../baseline.json", import.meta.url);

/** Reads the committed baseline. */
export function readBaseline(): Baseline {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

/** Makes a run's ratios the baseline; questions that it did not ask keep theirs. */
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

/** The cases of a run that the baseline has, too. */
export function besideBaseline(report: Report, baseline: Baseline): BesideBaseline[] {
  return report.questions.flatMap(({ name: question, figures }) =>
    figures.flatMap(({ name, ratio }) => {
      const known = baseline[question]?.[name];
      return known === undefined ? [] : [{ question, name, baseline: known, ratio }];
    }),
  );
}

/** Whether a ratio is so much worse than the baseline's that the run fails. */
export function isFarWorse({ baseline, ratio }: BesideBaseline): boolean {
  return ratio > baseline * WORST_FACTOR;
}

/** The ratios beside the baseline's as a Markdown table. */
export function baselineTable(all: readonly BesideBaseline[]): string {
  const rows = all.map((each) => {
    const { question, name, baseline, ratio } = each;
    const factor = (ratio / baseline).toFixed(2);
    const mark = isFarWorse(each) ? "**far worse**" : "";
    return `| ${question} | ${name} | ${baseline.toFixed(2)} | ${ratio.toFixed(2)} | ${factor} | ${mark} |`;
  });
  return `| question | case | baseline | ratio | factor | |\n|---|---|--:|--:|--:|---|\n${rows.join("\n")}`;
}
