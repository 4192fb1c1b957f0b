import { FAULTS } from "../check.ts";
import type { ClassResult } from "../run.ts";
import type { PeerResult } from "./run-peers.ts";

/** A column: a library, and what became of each class of vectors with it. */
export interface PeerColumn {
  readonly name: string;
  readonly results: readonly (PeerResult | ClassResult)[];
}

/** Returns a table, in Markdown, of who passes or fails which class. */
export function peerTable(columns: readonly PeerColumn[]): string {
  const names = columns[0]?.results.map((result) => result.class) ?? [];
  const rows = names.map((name) => {
    const cells = columns.map(({ results }) => cellOf(results.find((result) => result.class === name)));
    return `| ${name} | ${cells.join(" | ")} |`;
  });
  return [
    `| class | ${columns.map(({ name }) => name).join(" | ")} |`,
    `|---|${columns.map(() => "---").join("|")}|`,
    ...rows,
  ].join("\n");
}

function cellOf(result: PeerResult | ClassResult | undefined): string {
  if (result === undefined || result.interleavings === 0) return "not applicable";
  const found = FAULTS.filter((fault) => result.faults[fault] > 0).map(
    (fault) => `${result.faults[fault]} ${fault}`,
  );
  const failures =
    "failures" in result && result.failures > 0 ? [`${result.failures} ended with an error`] : [];
  const verdict = found.length > 0 ? `fails (${found.join(", ")}, of ${result.interleavings})` : "passes";
  return [verdict, ...failures].join("; ");
}

/** Lists the vectors that were not played, and why. */
export function notPlayed(columns: readonly PeerColumn[]): string {
  const lines = columns.flatMap(({ name, results }) =>
    results.flatMap((result) =>
      "notApplicable" in result
        ? [...new Set(result.notApplicable)].map((reason) => {
            const { length } = result.notApplicable.filter((other) => other === reason);
            return `- ${name}, ${result.class}: ${length} not played, because ${reason}`;
          })
        : [],
    ),
  );
  return lines.join("\n");
}
