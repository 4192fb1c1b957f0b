import type { MaybePromise } from "../../../base/promises.ts";
import { DURATION_FORM, parseDuration } from "../../../base/units.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import { mapOf, TEXT } from "../../../config/shape.ts";
import type { ConfigEntry } from "../../../config/source.ts";
import type { JsonObject } from "../../../json/value.ts";
import type { SettingsOptions } from "../../../toolsets/settings/settings-tools.ts";
import type { SearchToolsetOptions, ToolsetName, ToolsetOptions } from "../../../toolsets/toolsets.ts";
import { absolutePathBeside } from "../config-path.ts";
import { loadExport } from "../load-export.ts";
import { HTTP } from "../tool-entry.ts";

/** How a config has the options of a toolset. */
interface OptionsReader<Options> {
  /** The schemas of its members. */
  readonly members: JsonObject;
  /**
   * Returns the options that a value of that shape stands for.
   *
   * @param problems Receives what is wrong with it. What is returned is not used then.
   */
  readonly read: (entry: ConfigEntry<JsonObject>, problems: ConfigProblem[]) => MaybePromise<Options>;
}

/** Options that a config has as the code does. */
const asWritten = <Options>(members: JsonObject): OptionsReader<Options> => ({
  members,
  read: ({ value }) => value as Options,
});

const NAMING: JsonObject = { prefix: TEXT };

/** `time` is a duration. */
const SEARCH: OptionsReader<SearchToolsetOptions> = {
  members: { ...NAMING, time: { type: ["string", "number"] } },
  read: (entry, problems) => {
    const { prefix, time } = entry.value as { readonly prefix?: string; readonly time?: string | number };
    const timeMs = time === undefined ? undefined : parseDuration(time);
    if (time !== undefined && timeMs === undefined) {
      problems.push(entry.problem(["time"], `must be ${DURATION_FORM}`));
    }
    return { ...(prefix !== undefined && { prefix }), ...(timeMs !== undefined && { timeMs }) };
  },
};

const { url, headers, response } = HTTP["properties"] as { readonly [member: string]: JsonObject };
/** An HTTP tool with the argument `query`. Its templates are checked when the tool is registered. */
const WEB_SEARCH: JsonObject = mapOf({ url, headers, response }, ["url"]);

/** The readers of the options of every toolset. */
export const OPTIONS_READERS: { readonly [Name in ToolsetName]: OptionsReader<ToolsetOptions[Name]> } = {
  ask: asWritten(NAMING),
  basic: asWritten(NAMING),
  fs: asWritten(NAMING),
  search: SEARCH,
  index: SEARCH,
  memory: asWritten(NAMING),
  settings: { members: { ...NAMING, module: TEXT, export: TEXT }, read: readSettings },
  web: asWritten({ ...NAMING, search: WEB_SEARCH }),
};

/** The functions are the members of an object that a module exports. */
async function readSettings(
  entry: ConfigEntry<JsonObject>,
  problems: ConfigProblem[],
): Promise<SettingsOptions> {
  const { module, export: name, ...others } = entry.value as { module?: string; export?: string };
  if (module === undefined) {
    problems.push(
      entry.problem([], "module is missing: the module whose export has get, update and switchBackend"),
    );
    return others as SettingsOptions;
  }
  try {
    const functions = await loadExport(absolutePathBeside(entry.file, module), name);
    return { ...others, ...(functions as SettingsOptions) };
  } catch (error) {
    problems.push(entry.problem(["module"], (error as Error).message));
    return others as SettingsOptions;
  }
}
