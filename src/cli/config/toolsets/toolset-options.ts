import type { MaybePromise } from "../../../base/promises.ts";
import { DURATION_FORM, parseDuration } from "../../../base/units.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import { mapOf, TEXT } from "../../../config/shape.ts";
import type { ConfigEntry } from "../../../config/source.ts";
import type { JsonObject } from "../../../json/value.ts";
import type { GitOptions } from "../../../toolsets/git/git-tools.ts";
import type { SettingsOptions } from "../../../toolsets/settings/settings-tools.ts";
import type { ShellOptions } from "../../../toolsets/shell/shell-tools.ts";
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
const TEXTS: JsonObject = { type: "object", additionalProperties: { type: "string" } };
const AUTHOR: JsonObject = mapOf({ name: TEXT, email: TEXT }, ["name", "email"]);

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
const SHELL: OptionsReader<ShellOptions> = {
  members: {
    ...NAMING,
    ...{ env: TEXTS, testCommand: TEXT, failOnExit: { type: "boolean" } },
    killGrace: { type: ["string", "number"] },
  },
  read: readShell,
};

/** The readers of the options of every toolset. */
export const OPTIONS_READERS: { readonly [Name in ToolsetName]: OptionsReader<ToolsetOptions[Name]> } = {
  ask: asWritten(NAMING),
  basic: asWritten(NAMING),
  basic5: SHELL,
  fs: asWritten(NAMING),
  search: SEARCH,
  index: SEARCH,
  diagnostics: asWritten({ ...NAMING, command: { type: "array", items: { type: "string" }, minItems: 1 } }),
  git: { members: { ...NAMING, author: AUTHOR, commitTrailers: TEXTS }, read: readGit },
  memory: asWritten(NAMING),
  plan: asWritten(NAMING),
  settings: { members: { ...NAMING, module: TEXT, export: TEXT }, read: readSettings },
  web: asWritten({ ...NAMING, search: WEB_SEARCH }),
  shell: SHELL,
  system: asWritten(NAMING),
};

/** The trailers of a config are the same for every commit. */
function readGit({ value }: ConfigEntry<JsonObject>): GitOptions {
  const { commitTrailers, ...others } = value as Omit<GitOptions, "commitTrailers"> & {
    readonly commitTrailers?: Readonly<Record<string, string>>;
  };
  return { ...others, ...(commitTrailers !== undefined && { commitTrailers: () => commitTrailers }) };
}

function readShell(entry: ConfigEntry<JsonObject>, problems: ConfigProblem[]): ShellOptions {
  const { killGrace, ...others } = entry.value as ShellOptions & { readonly killGrace?: string | number };
  if (killGrace === undefined) return others;
  const killGraceMs = parseDuration(killGrace);
  if (killGraceMs === undefined) problems.push(entry.problem(["killGrace"], `must be ${DURATION_FORM}`));
  return { ...others, ...(killGraceMs !== undefined && { killGraceMs }) };
}

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
