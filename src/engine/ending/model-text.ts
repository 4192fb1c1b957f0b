import type { JsonValue } from "../../json/value.ts";
import { isContentOutput } from "../../tool/content.ts";
import type { ModelReader, ToolTraits } from "../../tool/tool-traits.ts";

/** Returns how the model reads an output, if the tool says so and it is no content. Never throws. */
export function modelTextOf(
  { modelText }: Pick<ToolTraits, "modelText">,
  output: JsonValue,
  reader: ModelReader,
): string | undefined {
  if (modelText === undefined || isContentOutput(output)) return undefined;
  try {
    const text: unknown = modelText(output as never, reader);
    return typeof text === "string" ? text : undefined;
  } catch {
    // The call has run: what it returned counts.
    return undefined;
  }
}
