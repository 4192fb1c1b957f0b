// Renders a Vega-Lite specification. In JavaScript, because the types of its libraries are not installed by default.
import { parse, View } from "vega";
import { compile } from "vega-lite";

export async function renderSvg(specification) {
  const view = new View(parse(compile(specification).spec), { renderer: "none" });
  return view.toSVG();
}
