import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { DuplicateToolError } from "../engine/registered-tool.ts";
import { ToolRegistry } from "../engine/registry.ts";
import { defineTool, type Tool } from "../engine/tool.ts";
import { type ProgramOptions, programTools } from "../programs/program-tools.ts";
import { MAX_CHOICE_CHARS, MAX_CHOICES, MAX_QUESTION_CHARS } from "../tool/question.ts";
import { basicTools, minimumTools } from "./basic-tools.ts";
import { type DiagnosticsOptions, diagnosticsTools } from "./diagnostics-tools.ts";
import { fsTools } from "./fs/fs-tools.ts";
import { type GitOptions, gitTools } from "./git-tools.ts";
import { guardTools } from "./guard-tools.ts";
import { indexTools } from "./index/index-tools.ts";
import { type MemoryOptions, memoryTools } from "./memory-tools.ts";
import type { SearchTime } from "./search/search.ts";
import { searchTools } from "./search/search-tools.ts";
import { type SettingsOptions, settingsTools } from "./settings-tools.ts";
import { type ShellOptions, shellTools, systemTools } from "./shell-tools.ts";
import { inputSchema, type ToolsetNaming } from "./tool-parts.ts";
import { type WebOptions, webTools } from "./web-tools.ts";

/** Options of the toolsets `search` and `index`. */
export interface SearchToolsetOptions extends ToolsetNaming, SearchTime {}

/** The toolsets, and the options of each. */
export interface ToolsetOptions {
  /** `ask_user`: has a person answer a question. */
  readonly ask: ToolsetNaming;
  /** `Echo`, `Read` and `Write`: for first experiments and tests. */
  readonly basic: ToolsetNaming;
  /** `read_file`, `write_file`, `patch_file`, `list_dir` and `shell`: the least that agents need. */
  readonly basic5: ShellOptions;
  /** `read_file`, `write_file`, `edit_file`, `patch_file`, `list_directory` and `delete_file`. */
  readonly fs: ToolsetNaming;
  /** `search_files`, `grep` and `find_references`. */
  readonly search: SearchToolsetOptions;
  /** `project_knowledge_search`. */
  readonly index: SearchToolsetOptions;
  /** `get_diagnostics`: what a compiler or linter finds. */
  readonly diagnostics: DiagnosticsOptions;
  /** `git_status`, `git_diff`, `git_log`, `git_stage`, `git_branch`, `git_stash`, `git_commit`, `git_push`, `git_pull`. */
  readonly git: GitOptions;
  /** What coding agents do with tools of their own, for `sandgate guard`: see docs/guard.md. */
  readonly guard: ToolsetNaming;
  /** `memory_add`, `memory_replace` and `memory_consolidate`, over a key-value store. */
  readonly memory: MemoryOptions;
  /** `submit_plan`: has a person approve a plan. */
  readonly plan: ToolsetNaming;
  /** `run_program`, `search_tools` and `describe_tools`: code mode. Its class is found among the tools that are registered. */
  readonly programs: ProgramOptions;
  /** `get_setting`, `update_setting` and `switch_backend`, over functions of the embedder. */
  readonly settings: SettingsOptions;
  /** `run_command` and `run_tests`, with bash. */
  readonly shell: ShellOptions;
  /** `system_monitor`: load, memory and disk. */
  readonly system: ToolsetNaming;
  /** `web_fetch`, `web_post`, `display_diagram`, and `web_search` if it is configured. */
  readonly web: WebOptions;
}

/** The name of a toolset. */
export type ToolsetName = keyof ToolsetOptions;

const TOOLSETS: {
  readonly [Name in ToolsetName]: (options: ToolsetOptions[Name], registry: ToolRegistry) => readonly Tool[];
} = {
  ask: askTools,
  basic: basicTools,
  basic5: minimumTools,
  fs: fsTools,
  search: searchTools,
  index: indexTools,
  diagnostics: diagnosticsTools,
  git: gitTools,
  guard: guardTools,
  memory: memoryTools,
  plan: planTools,
  programs: (options, registry) => programTools(registry, options),
  settings: settingsTools,
  shell: shellTools,
  system: systemTools,
  web: webTools,
};

const NAMING: OptionNames<ToolsetNaming> = { prefix: true };

const SEARCH: OptionNames<SearchToolsetOptions> = { prefix: true, timeMs: true };

const SHELL: OptionNames<ShellOptions> = {
  prefix: true,
  env: true,
  testCommand: true,
  failOnExit: true,
  killGraceMs: true,
  idleMs: true,
};

const OPTION_NAMES: { readonly [Name in ToolsetName]: OptionNames<ToolsetOptions[Name]> } = {
  ask: NAMING,
  basic: NAMING,
  fs: NAMING,
  guard: NAMING,
  plan: NAMING,
  system: NAMING,
  basic5: SHELL,
  shell: SHELL,
  search: SEARCH,
  index: SEARCH,
  diagnostics: { prefix: true, command: true, find: true },
  git: { prefix: true, author: true, commitTrailers: true },
  memory: { prefix: true, stores: true },
  programs: { prefix: true, tools: true, typeCheck: true },
  settings: { prefix: true, get: true, update: true, switchBackend: true },
  web: { prefix: true, search: true },
};

/** The names of all toolsets. */
export const TOOLSET_NAMES: readonly ToolsetName[] = Object.freeze(Object.keys(TOOLSETS) as ToolsetName[]);

/**
 * Returns the tools of a toolset, with the names that they are registered with.
 *
 * @param registry Where they will be registered, for the tools that call other tools. Default: an empty
 *   registry.
 */
export function toolsOf<Name extends ToolsetName>(
  name: Name,
  options: ToolsetOptions[Name],
  registry: ToolRegistry = new ToolRegistry(),
): readonly Tool[] {
  if (!Object.hasOwn(TOOLSETS, name)) {
    throw new TypeError(`There is no toolset '${name}': the toolsets are ${TOOLSET_NAMES.join(", ")}`);
  }
  refuseUnknown(options, OPTION_NAMES[name], `the toolset '${name}'`);
  const { prefix = "" } = options;
  return TOOLSETS[name](options, registry).map((tool) => ({ ...tool, name: `${prefix}${tool.name}` }));
}

const NAMES: OptionNames<{ readonly replace?: boolean }> = { replace: true };

/** The options of a toolset, which can be left out if none is required. */
type ToolsetArguments<Name extends ToolsetName> =
  Record<never, never> extends ToolsetOptions[Name]
    ? readonly [options?: ToolsetOptions[Name]]
    : readonly [options: ToolsetOptions[Name]];

/**
 * Registers the tools of a toolset: all of them, or none. Registering a tool grants nothing: a policy decides
 * on each of its calls.
 *
 * @throws {TypeError} if the toolset does not exist, or an option is invalid.
 * @throws {DuplicateToolError} if the name of one of the tools is taken.
 */
export function registerToolset<Name extends ToolsetName>(
  registry: ToolRegistry,
  name: Name,
  ...[options = {} as ToolsetOptions[Name]]: ToolsetArguments<Name>
): void {
  registerTools(registry, toolsOf(name, options, registry));
}

/**
 * Registers tools: all of them, or none.
 *
 * @param options.replace Whether to replace tools with the same names. Default: `false`.
 * @throws {DuplicateToolError} if the name of one of the tools is taken.
 */
export function registerTools(
  registry: ToolRegistry,
  tools: readonly Tool[],
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const taken = replace ? undefined : tools.find((tool) => registry.has(tool.name));
  if (taken !== undefined) throw new DuplicateToolError(taken.name, ["the name is taken"]);
  for (const tool of tools) registry.register(tool, { replace });
}

/**
 * Registers `Echo`, `Read` and `Write`: all of them, or none.
 *
 * @param options.replace Whether to replace tools with the same names. Default: `false`.
 * @throws {DuplicateToolError} if a name is taken.
 */
export function registerBasicTools(
  registry: ToolRegistry,
  options: { readonly replace?: boolean } = {},
): void {
  refuseUnknown(options, NAMES, "registerBasicTools");
  registerTools(registry, basicTools(), options);
}

/** Asking changes nothing, and an answer approves nothing. */
const askUser = defineTool({
  name: "ask_user",
  description:
    "Asks the user a question, and returns the answer: one of the options, or any text if there are none. The answer is no permission to do anything.",
  sideEffects: "none",
  inputSchema: inputSchema(
    { question: { type: "string", minLength: 1, maxLength: MAX_QUESTION_CHARS } },
    {
      options: {
        type: "array",
        items: { type: "string", minLength: 1, maxLength: MAX_CHOICE_CHARS },
        minItems: 1,
        maxItems: MAX_CHOICES,
        uniqueItems: true,
      },
    },
  ),
  host: async ({ question, options }, { ask }) => ({
    answer: await ask({ question, ...(options !== undefined && { choices: options }) }),
  }),
});

/** A tool with which the model asks the user: `ask_user`. */
function askTools(): readonly Tool[] {
  return [askUser];
}

/** The longest plan, in UTF-16 code units. */
const MAX_PLAN_LENGTH = 20_000;

/** The call runs once a person has allowed it, which is what approves the plan. */
const submitPlan = defineTool({
  name: "submit_plan",
  description:
    "Submits a plan of what you are going to do, for a person to approve. Until a plan is approved, you can only read. " +
    "Returns { approved: true }.",
  sideEffects: "none",
  confirm: "plan",
  inputSchema: inputSchema({
    plan: {
      type: "string",
      minLength: 1,
      maxLength: MAX_PLAN_LENGTH,
      description: "The whole plan, step by step",
    },
  }),
  host: () => ({ approved: true }),
});

/** A tool with which the model has its plan approved: `submit_plan`. */
export function planTools(): readonly Tool[] {
  return [submitPlan];
}
