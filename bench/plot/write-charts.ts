import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Report } from "../harness/report.ts";
import { chartOf, type Specification } from "./charts.ts";
import { readmeWithFigures } from "./readme-figures.ts";

const README = new URL("../README.md", import.meta.url);
const FOLDER = new URL("../charts/", import.meta.url);

/** Imported by a computed path, because its dependencies are only installed with `--plot`. */
const RENDERER = "render-svg";

const NOT_FOR_BIOME = "<!-- biome-ignore-all lint: drawn by Vega -->\n";

interface Renderer {
  renderSvg(specification: Specification): Promise<string>;
}

/** Writes a report with a chart for each question, and updates the README. */
export async function writeCharts(report: Report): Promise<void> {
  const { renderSvg } = (await import(new URL(`${RENDERER}.mjs`, import.meta.url).href)) as Renderer;
  mkdirSync(FOLDER, { recursive: true });
  for (const result of report.questions) {
    writeFileSync(
      new URL(`${result.name}.svg`, FOLDER),
      `${NOT_FOR_BIOME}${await renderSvg(chartOf(result))}\n`,
    );
  }
  writeFileSync(new URL("report.json", FOLDER), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(README, readmeWithFigures(report));
  console.error(`(charts are in ${fileURLToPath(FOLDER)}, and README.md shows them)`);
}
