import { isAbsolute, join } from "node:path";
import { databaseFiles, guardFiles } from "../../base/guarded-files.ts";
import { MAX_DELAY_MS } from "../../base/timers.ts";
import { DURATION_FORM, formatDuration, parseDuration } from "../../base/units.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import {
  type CompiledShape,
  compileShape,
  DURATION,
  defaultOf,
  described,
  mapOf,
  PATH,
  type Shape,
  TEXT,
  TEXTS,
} from "../../config/shape.ts";
import type { ConfigSource } from "../../config/source.ts";
import { oneOf, record, type Shape as Typed, type TypeOf, typed } from "../../json/shape.ts";
import { BASE_MODES, type Level, SESSION_DEFAULTS, TOOL_LEVELS } from "../../sessions/levels.ts";
import type { CustomMode, SessionMode } from "../../sessions/modes/mode.ts";
import { isModeName, MODE_NAME_FORM } from "../../sessions/modes/modes.ts";
import type { ConfirmationOptions, SessionLimits } from "../../sessions/options.ts";
import { SIDE_EFFECTS, type SideEffects } from "../../tool/side-effects.ts";
import { absolutePathBeside } from "./guard-code.ts";
import { NOTIFY } from "./load-notify.ts";

/** The file in which a server stores its sessions: see {@link defaultFile}. */
const DEFAULT_STORE = "sandgate-sessions.db";

/** The file in which a server stores suspended programs: see {@link defaultFile}. */
const DEFAULT_PROGRAMS = "sandgate-programs.db";

/** The mode of new sessions. */
const DEFAULT_MODE = "cautious";

const COUNT: Typed<number> = typed({
  type: "integer",
  minimum: 1,
  maximum: 10_000_000,
  message: "must be from 1 to 10000000",
});
const LEVEL = oneOf(["auto", "prompt", "deny"]);
const CLASSES: Typed<Partial<Record<SideEffects, Level>>> = typed(
  mapOf(
    Object.fromEntries(
      SIDE_EFFECTS.map((name) => [
        name,
        described(LEVEL, `The level of tools with the side effects \`${name}\`.`),
      ]),
    ),
  ),
);

const CONFIRMATIONS = mapOf({
  mode: described(TEXT, "The mode of new sessions: see docs/confirmations.md#modes.", DEFAULT_MODE),
  modes: record(
    mapOf(
      {
        base: described(oneOf(BASE_MODES), "The mode that decides on other tools."),
        tools: described(
          record(LEVEL, { maxProperties: 1_000 }),
          "The levels of tools in this mode, by name. Default: none.",
        ),
      },
      ["base"],
    ),
    { maxProperties: 100, description: "Modes of your own, by name. Default: none." },
  ),
  default: described(
    CLASSES,
    "Whether calls run, are asked about or denied, by the side effects of their tool. Default: `auto` for `none` and `read`, `prompt` for the others.",
  ),
  tools: described(record(oneOf(TOOL_LEVELS)), "The levels of tools, by name. Default: none."),
  trustedWorkspaces: described(
    TEXTS,
    "Workspaces in which calls run without a question, with everything below them; `~` is the home directory. Default: none.",
  ),
  trustedWorkspaceOverrides: described(CLASSES, "The levels in a trusted workspace. Default: `auto`."),
  timeout: described(DURATION, "How long a question waits for its answer.", SESSION_DEFAULTS.timeoutMs),
  notify: described(
    NOTIFY,
    "Who is notified of confirmations that no attached approver sees: see docs/notifications.md. Default: nobody.",
  ),
});

/** The shape of `confirmations`: when a person is asked. */
export const CONFIRMATIONS_SHAPE: CompiledShape = compileShape(CONFIRMATIONS);

const SESSIONS = mapOf({
  store: described(
    PATH,
    `The file of SQLite in which a server keeps sessions. Default: \`${DEFAULT_STORE}\` beside the config, or in the \`StateDirectory\` of a systemd unit.`,
  ),
  programs: described(
    mapOf(
      {
        store: described(
          PATH,
          `The file of SQLite that stores them. Default: \`${DEFAULT_PROGRAMS}\` beside the config, or in the \`StateDirectory\` of a systemd unit.`,
        ),
        keys: described(
          PATH,
          "The file with the keys under which they are sealed: see docs/suspension.md#keys.",
        ),
      },
      ["keys"],
    ),
    "Keeps programs, and other JavaScript tools, while they wait: see docs/suspension.md. Default: they end with the server.",
  ),
  limits: described(
    mapOf({
      concurrency: described(
        typed<number>({ type: "integer", minimum: 1, maximum: 64, message: "must be from 1 to 64" }),
        "How many calls run at once.",
        SESSION_DEFAULTS.concurrency,
      ),
      perTool: described(
        record(COUNT),
        "How many calls of a tool run at once, by its name. Default: the tool's `maxConcurrent`.",
      ),
      calls: described(
        COUNT,
        "How many calls the session can make. Invalid and denied calls do not count. Default: no limit.",
      ),
      callsPerTool: described(
        record(COUNT),
        "How many calls of a tool the session can make, by its name. Default: no limit.",
      ),
      ledgerEntries: described(
        COUNT,
        "How many calls of each session and principal are remembered, for rules with conditions on earlier calls.",
        SESSION_DEFAULTS.ledgerEntries,
      ),
    }),
    "Limits of each session.",
  ),
});

/** The shape of `sessions`. */
export const SESSIONS_SHAPE: CompiledShape = compileShape(SESSIONS);

/** The sessions of a config. */
export interface SessionsConfig {
  readonly confirmations: ConfirmationOptions;
  readonly limits: SessionLimits;
  /** The mode of new sessions. */
  readonly mode: SessionMode;
  /** The absolute path of the file in which a server stores its sessions. */
  readonly storeFile: string;
  /** The absolute paths of the files with suspended programs and with their keys; absent if programs end with the server. */
  readonly programs?: { readonly storeFile: string; readonly keysFile: string };
}

/**
 * Loads `sessions` and `confirmations` of a config.
 *
 * @param problems Receives every problem.
 */
export function loadSessions(source: ConfigSource, problems: ConfigProblem[]): SessionsConfig {
  const {
    store = defaultFile(DEFAULT_STORE),
    programs,
    limits = {},
  } = read<TypeOf<typeof SESSIONS>>("sessions", SESSIONS_SHAPE);
  const {
    mode = defaultOf(CONFIRMATIONS, "mode"),
    timeout,
    notify: _,
    ...levels
  } = read<TypeOf<typeof CONFIRMATIONS>>("confirmations", CONFIRMATIONS_SHAPE);
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout);
  if (timeout !== undefined && (timeoutMs === undefined || timeoutMs > MAX_DELAY_MS)) {
    const form = timeoutMs === undefined ? DURATION_FORM : `at most ${formatDuration(MAX_DELAY_MS)}`;
    problems.push(source.problem(["confirmations", "timeout"], `must be ${form}`));
  }
  checkModes(mode, levels.modes ?? {}, (path, message) =>
    problems.push(source.problem(["confirmations", ...path], message)),
  );
  const { trustedWorkspaces, ...others } = levels;
  const storeFile = absolutePathBeside(source.file, store);
  const programFiles = programs && {
    storeFile: absolutePathBeside(source.file, programs.store ?? defaultFile(DEFAULT_PROGRAMS)),
    keysFile: absolutePathBeside(source.file, programs.keys),
  };
  guardFiles([
    ...databaseFiles(storeFile),
    ...(programFiles ? [...databaseFiles(programFiles.storeFile), { path: programFiles.keysFile }] : []),
  ]);
  return {
    confirmations: {
      ...others,
      ...(trustedWorkspaces && {
        trustedWorkspaces: trustedWorkspaces.map((path) => workspacePath(source.file, path)),
      }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    },
    limits,
    mode,
    storeFile,
    ...(programFiles && { programs: programFiles }),
  };

  function read<Entry extends object>(name: string, shape: Shape): Partial<Entry> {
    if (source.at([name]) === undefined) return {};
    return source.read<Entry>(shape, problems, [name])?.value ?? {};
  }
}

/** Returns the path of a file of a server: in the first state directory that systemd gives it, or beside the config. */
export function defaultFile(name: string): string {
  const [directory = ""] = (process.env["STATE_DIRECTORY"] ?? "").split(":");
  return isAbsolute(directory) ? join(directory, name) : name;
}

/** Returns the path of a workspace in a config: beside the config's file, unless it begins with `~`. */
export function workspacePath(file: string, path: string): string {
  return path === "~" || path.startsWith("~/") ? path : absolutePathBeside(file, path);
}

function checkModes(
  mode: string,
  modes: Readonly<Record<string, CustomMode>>,
  refuse: (path: readonly string[], message: string) => void,
): void {
  for (const name of Object.keys(modes)) {
    if (BASE_MODES.some((each) => each === name))
      refuse(["modes", name], `the mode '${name}' cannot be defined again`);
    else if (!isModeName(name)) refuse(["modes", name], `the name of a mode must be ${MODE_NAME_FORM}`);
  }
  const known = [...new Set([...BASE_MODES, ...Object.keys(modes)])];
  if (!known.includes(mode)) refuse(["mode"], `must be one of ${known.join(", ")}`);
}
