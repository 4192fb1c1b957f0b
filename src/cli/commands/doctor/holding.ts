import { shown } from "../../../rendering/shown.ts";
import type { ShownText } from "../../../rendering/shown-text.ts";
import type { Holding } from "../../../sandboxes/contract/holding.ts";
import { styled } from "../../terminal/styled.ts";

/** Returns whether something holds, in words. */
export function wordsOf(found: Holding): ShownText {
  if (found.holds) return styled("good", shown`holds`);
  return shown`${styled("caution", shown`does not hold`)}: ${reasonOf(found)}`;
}

/** Returns why something does not hold, and what would change that. */
export function reasonOf({ reason, remedy }: Extract<Holding, { holds: false }>): string {
  return remedy === undefined ? reason : `${reason} (remedy: ${remedy})`;
}
