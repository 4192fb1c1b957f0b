import { readFileSync } from "node:fs";
import type { Report } from "../harness/report.ts";
import { machineLine, questionTable } from "../harness/table.ts";

const README = new URL("../README.md", import.meta.url);
const HEADING = "## Current figures\n";

/** Returns the README with the figures and charts below its last heading replaced by those of a report. */
export function readmeWithFigures(report: Report): string {
  const [guide = ""] = readFileSync(README, "utf8").split(HEADING, 1);
  const sections = report.questions.map(
    (result) => `${questionTable(result)}\n![${result.name}](charts/${result.name}.svg)\n`,
  );
  const origin = `\`${report.command}\` on ${machineLine(report.machine, report.effort)}.`;
  const others = "All figures are in [charts/report.json](charts/report.json).";
  return `${guide}${HEADING}\n${origin} ${others}\n\n${sections.join("\n")}`;
}
