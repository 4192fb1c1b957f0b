import { mkdirSync, writeFileSync } from "node:fs";
import type { Report } from "../harness/report.ts";
import { readmeWithFigures } from "./readme-figures.ts";
import { writeCharts } from "./write-charts.ts";

const README = new URL("../README.md", import.meta.url);
const FOLDER = new URL("../charts/", import.meta.url);

/** Writes the tracked charts, the report beside them, and the figures in README.md. */
export async function writeDocs(report: Report): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  await writeCharts(report, FOLDER);
  writeFileSync(new URL("report.json", FOLDER), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(README, readmeWithFigures(report));
}
