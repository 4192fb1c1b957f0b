// Draws a Vega-Lite specification. In JavaScript, as its libraries' types are not installed where this is compiled.
import { parse, View } from "vega";
import { compile } from "vega-lite";

export async function renderSvg(specification) {
  const view = new View(parse(compile(specification).spec), { renderer: "none" });
  return view.toSVG();
}
