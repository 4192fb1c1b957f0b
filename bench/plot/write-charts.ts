import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Report } from "../harness/report.ts";
import { chartOf, type Specification } from "./charts.ts";

/** Imported by a computed path, because its dependencies are only installed for charts. */
const RENDERER = "render-svg";

const NOT_FOR_BIOME = "<!-- biome-ignore-all lint: drawn by Vega -->\n";

interface Renderer {
  renderSvg(specification: Specification): Promise<string>;
}

/**
 * Writes a chart of each question as `QUESTION.svg`.
 *
 * @param folder A `file:` URL that ends with a slash, of a folder that exists.
 */
export async function writeCharts(report: Report, folder: URL): Promise<void> {
  const { renderSvg } = (await import(new URL(`${RENDERER}.mjs`, import.meta.url).href)) as Renderer;
  for (const result of report.questions) {
    const svg = await renderSvg(chartOf(result));
    writeFileSync(new URL(`${result.name}.svg`, folder), `${NOT_FOR_BIOME}${svg}\n`);
  }
  console.error(`(charts are in ${fileURLToPath(folder)})`);
}
