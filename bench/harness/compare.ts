import type { Figure } from "./figures.ts";
import { noisyFloors, type Report } from "./report.ts";

/** How a case's ratio changed from one run to another. */
export interface Change {
  readonly question: string;
  readonly name: string;
  readonly before: number;
  readonly after: number;
  /**
   * `slower` and `faster` mean a change beyond the noise: the middle halves of the rounds do not overlap, and the
   * medians differ by 10 %. `unclear` means that they do, but a floor was too noisy.
   */
  readonly verdict: "slower" | "faster" | "same" | "unclear";
}

/** Medians that differ by less than this share count as the same, because two runs of one build differ as much. */
const SAME = 0.1;

/** Compares the cases that both runs have, except floors. */
export function compareReports(before: Report, after: Report): Change[] {
  return after.questions.flatMap((now) => {
    const then = before.questions.find(({ name }) => name === now.name);
    if (then === undefined) return [];
    const noisy = new Set([...noisyFloors(then), ...noisyFloors(now)].map(({ name }) => name));
    return now.figures.flatMap((figure): Change[] => {
      const earlier = then.figures.find(({ name }) => name === figure.name);
      if (earlier === undefined || figure.name === figure.floor) return [];
      const clear = verdictOf(earlier, figure);
      const verdict = noisy.has(figure.floor) && clear !== "same" ? "unclear" : clear;
      return [{ question: now.name, name: figure.name, before: earlier.ratio, after: figure.ratio, verdict }];
    });
  });
}

function verdictOf(before: Figure, after: Figure): "slower" | "faster" | "same" {
  if (after.spread.least > before.spread.most && after.ratio > before.ratio * (1 + SAME)) return "slower";
  if (after.spread.most < before.spread.least && after.ratio < before.ratio / (1 + SAME)) return "faster";
  return "same";
}

/** Returns the changes as a Markdown table, slower cases first. */
export function changeTable(changes: readonly Change[]): string {
  const order = ["slower", "unclear", "faster", "same"];
  const inOrder = [...changes].sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
  const rows = inOrder.map(({ question, name, before, after, verdict }) => {
    const factor = (after / before).toFixed(2);
    return `| ${verdict} | ${question} | ${name} | ${before.toFixed(2)} | ${after.toFixed(2)} | ${factor} |`;
  });
  return `| | question | case | ratio before | after | factor |\n|---|---|---|--:|--:|--:|\n${rows.join("\n")}`;
}
