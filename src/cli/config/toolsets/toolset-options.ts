import type { ConfigProblem } from "../../../config/problem.ts";
import { TEXT } from "../../../config/shape.ts";
import type { ConfigEntry } from "../../../config/source.ts";
import type { JsonObject } from "../../../json/value.ts";
import type { ToolsetName, ToolsetOptions } from "../../../toolsets/toolsets.ts";

/** How a config has the options of a toolset. */
interface OptionsReader<Options> {
  /** The schemas of its members. */
  readonly members: JsonObject;
  /**
   * Returns the options that a value of that shape stands for.
   *
   * @param problems Receives what is wrong with it. What is returned is not used then.
   */
  readonly read: (entry: ConfigEntry<JsonObject>, problems: ConfigProblem[]) => Options;
}

/** Options that a config has as the code does. */
const asWritten = <Options>(members: JsonObject): OptionsReader<Options> => ({
  members,
  read: ({ value }) => value as Options,
});

const NAMING: JsonObject = { prefix: TEXT };

/** The readers of the options of every toolset. */
export const OPTIONS_READERS: { readonly [Name in ToolsetName]: OptionsReader<ToolsetOptions[Name]> } = {
  basic: asWritten(NAMING),
};
