import type { MaybePromise } from "../../../base/promises.ts";
import { DURATION_FORM, parseDuration } from "../../../base/units.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import { DURATION, described, FLAG, mapOf, PATH, TEXT } from "../../../config/shape.ts";
import type { ConfigEntry } from "../../../config/source.ts";
import type { JsonObject } from "../../../json/value.ts";
import type { GitOptions } from "../../../toolsets/git-tools.ts";
import type { SettingsOptions } from "../../../toolsets/settings-tools.ts";
import type { ShellOptions } from "../../../toolsets/shell-tools.ts";
import type { SearchToolsetOptions, ToolsetName, ToolsetOptions } from "../../../toolsets/toolsets.ts";
import { guardedPathBeside } from "../guard-code.ts";
import { HTTP, PROGRAM_TIMES, type ProgramTimes, readProgramTimes } from "./implementation-shapes.ts";
import { loadExport } from "./load-tool.ts";

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

const NAMING: JsonObject = {
  prefix: described(TEXT, "What the name of each tool begins with, such as `project_`. Default: nothing."),
};
const TEXTS: JsonObject = { type: "object", additionalProperties: { type: "string" } };
const AUTHOR: JsonObject = mapOf(
  { name: described(TEXT, "The author's name."), email: described(TEXT, "The author's e-mail address.") },
  ["name", "email"],
);

/** `time` is a duration. */
const SEARCH: OptionsReader<SearchToolsetOptions> = {
  members: {
    ...NAMING,
    time: described(DURATION, "The time after which a search ends with what it has found.", 10_000),
  },
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
    env: described(
      TEXTS,
      "Environment variables of every command, with their values, which are not secret. Default: none.",
    ),
    testCommand: described(
      TEXT,
      "The command of `run_tests`. Default: it is found by the files of the project.",
    ),
    failOnExit: described(FLAG, "Whether an exit code other than 0 fails a call.", false),
    ...PROGRAM_TIMES,
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
  diagnostics: asWritten({
    ...NAMING,
    command: described(
      { type: "array", items: { type: "string" }, minItems: 1 },
      "A compiler or linter and its arguments, such as `[tsc, --noEmit]`, which runs in the sandbox `process`. Required.",
    ),
  }),
  git: {
    members: {
      ...NAMING,
      author: described(AUTHOR, "Who commits. Default: the `user` of the repository's configuration."),
      commitTrailers: described(
        TEXTS,
        "Trailers of each commit, such as `X-AI-Model`, by their names. Default: none.",
      ),
    },
    read: readGit,
  },
  guard: asWritten(NAMING),
  memory: asWritten(NAMING),
  plan: asWritten(NAMING),
  programs: asWritten({
    ...NAMING,
    tools: described(
      { type: "array", items: { type: "string" } },
      "Patterns of the names of the tools that programs are meant to call, by which the class of `run_program` is found. Default: all tools.",
    ),
    typeCheck: described(
      { type: "boolean" },
      "Whether TypeScript's compiler checks the types of programs in TypeScript before they run: see docs/code-mode.md.",
      false,
    ),
  }),
  settings: {
    members: {
      ...NAMING,
      module: described(
        PATH,
        "The ES module whose export has the functions `get`, `update` and `switchBackend`. Required.",
      ),
      export: described(TEXT, "The name of the export.", "default"),
    },
    read: readSettings,
  },
  web: asWritten({
    ...NAMING,
    search: described(
      WEB_SEARCH,
      "The request of `web_search`, with the argument `query`. Default: there is no `web_search`.",
    ),
  }),
  shell: SHELL,
  system: asWritten(NAMING),
};

/** What each toolset has, for editors. */
export const TOOLSET_DESCRIPTIONS: { readonly [Name in ToolsetName]: string } = {
  ask: "`ask_user`: has a person answer a question.",
  basic: "`Echo`, `Read` and `Write`: for first experiments and tests.",
  basic5: "`read_file`, `write_file`, `patch_file`, `list_dir` and `shell`: the least that agents need.",
  fs: "`read_file`, `write_file`, `edit_file`, `patch_file`, `list_directory` and `delete_file`.",
  search: "`search_files`, `grep` and `find_references`.",
  index: "`project_knowledge_search`: finds symbols.",
  diagnostics: "`get_diagnostics`: what a compiler or linter finds.",
  git: "`git_status`, `git_diff`, `git_log`, `git_stage`, `git_branch`, `git_stash`, `git_commit`, `git_push` and `git_pull`.",
  guard: "What coding agents do with tools of their own, for `sandgate guard`: see docs/guard.md.",
  memory: "`memory_add`, `memory_replace` and `memory_consolidate`, over a key-value store.",
  plan: "`submit_plan`: has a person approve a plan.",
  programs: "`run_program`, `search_tools` and `describe_tools`: programs that call tools.",
  settings: "`get_setting`, `update_setting` and `switch_backend`, over functions of the embedder.",
  web: "`web_fetch`, `web_post`, `display_diagram`, and `web_search` if it is configured.",
  shell: "`run_command` and `run_tests`, with bash.",
  system: "`system_monitor`: load, memory and disk.",
};

/** The trailers of a config are the same for every commit. */
function readGit({ value }: ConfigEntry<JsonObject>): GitOptions {
  const { commitTrailers, ...others } = value as Omit<GitOptions, "commitTrailers"> & {
    readonly commitTrailers?: Readonly<Record<string, string>>;
  };
  return { ...others, ...(commitTrailers !== undefined && { commitTrailers: () => commitTrailers }) };
}

function readShell(entry: ConfigEntry<JsonObject>, problems: ConfigProblem[]): ShellOptions {
  const { killGrace, idle, ...others } = entry.value as ShellOptions & ProgramTimes;
  return { ...others, ...readProgramTimes(entry, [], { killGrace, idle }, problems) };
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
    const functions = await loadExport(guardedPathBeside(entry.file, module), name);
    return { ...others, ...(functions as SettingsOptions) };
  } catch (error) {
    problems.push(entry.problem(["module"], (error as Error).message));
    return others as SettingsOptions;
  }
}
