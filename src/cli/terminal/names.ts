import { joinShown, shown, toLine } from "../../rendering/shown.ts";
import { ShownText } from "../../rendering/shown-text.ts";

const MAX_NAME_LENGTH = 160;
const MAX_NAMES = 20;

/** Lists the first names from a component, and how many more there are. */
export function listNames(names: readonly string[]): ShownText {
  const listed = names.slice(0, MAX_NAMES).map((name) => new ShownText(toLine(name, MAX_NAME_LENGTH)));
  const more = names.length - listed.length;
  return shown`${joinShown(listed, ", ")}${new ShownText(more > 0 ? `, and ${more} more` : "")}`;
}
