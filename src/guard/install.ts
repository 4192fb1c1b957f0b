import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parseAnswer } from "../json/parse-answer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { GuardedAgent } from "./agent.ts";
import { claudeCode } from "./agents/claude-code.ts";
import { codex } from "./agents/codex.ts";
import { gemini } from "./agents/gemini.ts";
import { opencode } from "./agents/opencode.ts";
import { quote } from "./decide.ts";
import { HOOK_X64 } from "./hook-binary.ts";

/** The agents that can be guarded, in the order in which they are named. */
export const AGENTS: readonly GuardedAgent[] = [claudeCode, codex, gemini, opencode];

/** Returns an agent by its name; `undefined` if it is not one of {@link AGENTS}. */
export function agentNamed(name: string): GuardedAgent | undefined {
  return AGENTS.find((agent) => agent.name === name);
}

/** What a hook is started with. All paths are absolute. */
export interface HookTarget {
  /** The program that runs Node.js code. */
  readonly node: string;
  /** The file of the hook. */
  readonly hook: string;
  readonly socket: string;
  readonly key: string;
  readonly home: string;
  /** Starts the process that decides. */
  readonly daemon: readonly string[];
  /** Ends a program after some seconds (coreutils); `undefined` if this machine has none. */
  readonly timeout: string | undefined;
  /** The hook that needs no Node.js while something decides; `undefined` where it does not run. */
  readonly quick: QuickHook | undefined;
}

/** A hook that is a small program. */
export interface QuickHook {
  readonly file: string;
  /** The folder with the socket and the secret. */
  readonly folder: string;
  /** The SHA-256 of the secret, in hex. */
  readonly pin: string;
}

/** The secret of the hooks that are small programs, in the folder of the config. */
export const SECRET = "hook.secret";

/** What {@link QuickHook} ends with if it cannot have an answer. */
const NO_ANSWER = 3;

/** Writes the hook that needs no Node.js, if there is one for this machine. Where it cannot be written or run, {@link quickHook} returns none. */
export function writeQuickHook(folder: string): void {
  try {
    const file = join(folder, "hook");
    writeFileSync(`${file}.new`, quickHookProgram(), { mode: 0o700 });
    renameSync(`${file}.new`, file);
  } catch {
    // The hook in Node.js does the same.
  }
}

/**
 * Returns the hook that needs no Node.js; `undefined` if it is not there, was changed, or does not run, as on another machine or on a
 * file system without programs.
 *
 * @param folder The folder of the socket.
 */
export function quickHook(folder: string): QuickHook | undefined {
  const [file, secret] = [join(folder, "hook"), join(folder, SECRET)];
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  try {
    if (!readFileSync(file).equals(quickHookProgram())) return undefined;
    const { status } = spawnSync(file, [], { stdio: "ignore", env: {}, timeout: 5_000 });
    if (status !== NO_ANSWER) return undefined;
    return { file, folder, pin: createHash("sha256").update(readFileSync(secret)).digest("hex") };
  } catch {
    return undefined;
  }
}

function quickHookProgram(): Buffer {
  return Buffer.from(HOOK_X64, "base64");
}

/** The settings of an agent cannot be changed. The message says why. */
export class InstallError extends Error {
  override readonly name = "InstallError";
}

/** By which an entry is known as that of Sandgate. */
const MARK = "SANDGATE_GUARD=";

/** Longer than the hook takes by itself, and shorter than any agent waits. */
const SECONDS = 30;

const BLOCKED = "Sandgate could not decide on this call, so it was blocked. Run: sandgate guard status";

/**
 * Whatever the hook does, only two ends let a call run: no objection, which is `{}`, and a JSON object. Every other one becomes an
 * exit code and a text that all agents with commands as hooks take for a denial. Variables of the agent, such as
 * NODE_OPTIONS, do not reach the hook.
 */
const WRAPPER = `o=$("$0" "$@" 2>/dev/null) && case "$o" in "{}") exit 0;; "{"*"}") printf "%s\\n" "$o"; exit 0;; esac; echo "${BLOCKED}" >&2; exit 2`;

/** Returns the words with which a hook is started, without a shell. */
export function hookWords(agent: GuardedAgent, target: HookTarget): readonly string[] {
  const { node, hook, socket, key, daemon, timeout, home, quick } = target;
  const limited = timeout === undefined ? [] : [timeout, "-s", "KILL", String(SECONDS)];
  const inNode = [...limited, node, hook, agent.name, socket, key, ...daemon];
  // Neither reads variables, and the quick one has a time limit of its own.
  return quick === undefined
    ? ["/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", `HOME=${home}`, ...inNode]
    : [quick.file, agent.name, quick.folder, quick.pin, home, ...inNode];
}

/** Returns the command of a hook, for the shell with which the agent starts it. */
export function hookCommand(agent: GuardedAgent, target: HookTarget): string {
  return ["/bin/sh", "-c", `${MARK}${agent.name}; ${WRAPPER}`, ...hookWords(agent, target)]
    .map(quote)
    .join(" ");
}

/** Returns the file in which an agent has its hook, or the one that holds for the whole machine. */
export function hookFile({ hook, title }: GuardedAgent, home: string, isManaged: boolean): string {
  if (!isManaged) return join(home, hook.path);
  if (hook.kind === "json" && hook.managed !== undefined) return hook.managed;
  throw new InstallError(
    `${title} has no settings for the whole machine that Sandgate knows: leave out --managed`,
  );
}

function pluginSource({ hook, name }: GuardedAgent, target: HookTarget): string {
  const { quick } = target;
  if (hook.kind !== "plugin") return "";
  // The plugin asks by itself what the quick hook would ask, and starts the other one if nothing decides.
  const command = hookWords(agentNamed(name) as GuardedAgent, { ...target, quick: undefined });
  return `// ${MARK}${name}\n${hook.source({ command, quick })}`;
}

/** Writes the hook of an agent in place of an earlier one. What was in the file before is beside it, with the ending `.sandgate-backup`. */
export function installHook(agent: GuardedAgent, file: string, target: HookTarget): void {
  const { hook } = agent;
  if (hook.kind === "plugin") {
    replace(file, pluginSource(agent, target));
    return;
  }
  const settings = withoutHook(agent, readSettings(file));
  const hooks = isJsonObject(settings["hooks"]) ? settings["hooks"] : {};
  const { [hook.event]: entries = [] } = hooks;
  if (!Array.isArray(entries)) throw new InstallError(`'hooks.${hook.event}' in '${file}' is not a list`);
  const own = { matcher: "*", hooks: [{ ...hook.entry, command: hookCommand(agent, target) }] };
  // The first one: what others allow does not matter then.
  const changed = { ...settings, hooks: { ...hooks, [hook.event]: [own, ...entries] } };
  if (existsSync(file) && !existsSync(backupOf(file)))
    writeFileSync(backupOf(file), readFileSync(file), { mode: 0o600 });
  replace(file, `${JSON.stringify(changed, undefined, 2)}\n`);
}

/** Removes the hook of an agent. Returns whether there was one. */
export function uninstallHook(agent: GuardedAgent, file: string): boolean {
  const { hook } = agent;
  const isThere = existsSync(file) && readFileSync(file, "utf8").includes(MARK);
  if (!isThere) return false;
  const rest = hook.kind === "plugin" ? {} : withoutHook(agent, readSettings(file));
  if (Object.keys(rest).length === 0) rmSync(file);
  else replace(file, `${JSON.stringify(rest, undefined, 2)}\n`);
  rmSync(backupOf(file), { force: true });
  return true;
}

/** What is found of the hook of an agent. */
export interface HookStatus {
  readonly isInstalled: boolean;
  /** Why calls are not decided on, or all are blocked. */
  readonly problems: readonly string[];
}

/** Compares the hook of an agent with what would be installed. */
export function hookStatus(agent: GuardedAgent, file: string, target: HookTarget): HookStatus {
  const { hook } = agent;
  if (!existsSync(file)) return { isInstalled: false, problems: [] };
  const text = readFileSync(file, "utf8");
  if (!text.includes(MARK)) return { isInstalled: false, problems: [] };
  const problems: string[] = [];
  if (hook.kind === "plugin") {
    if (text !== pluginSource(agent, target)) problems.push(OTHER);
    return { isInstalled: true, problems };
  }
  const settings = readSettings(file);
  const hooks = isJsonObject(settings["hooks"]) ? settings["hooks"] : {};
  const expected = hookCommand(agent, target);
  const own = listed(hooks[hook.event]).filter(isOwn);
  if (own.length !== 1 || !JSON.stringify(own).includes(JSON.stringify(expected))) problems.push(OTHER);
  if (isJsonObject(own[0]) && own[0]["matcher"] !== "*")
    problems.push("its matcher leaves out tools: install it again");
  if (settings["disableAllHooks"] === true) problems.push(`'disableAllHooks' in '${file}' switches it off`);
  const { mode, uid } = lstatSync(realpathSync(file));
  if ((mode & 0o022) !== 0) problems.push(`others may write '${file}': take that away with chmod go-w`);
  if (uid !== process.getuid?.() && uid !== 0) problems.push(`'${file}' belongs to another user`);
  return { isInstalled: true, problems };
}

const OTHER = "it is not the one that this version installs with this config: install it again";

function withoutHook({ hook }: GuardedAgent, settings: JsonObject): JsonObject {
  if (hook.kind !== "json" || !isJsonObject(settings["hooks"])) return settings;
  // Everything else stays, in its order.
  const events = Object.entries(settings["hooks"]).flatMap(
    ([event, entries = null]): [string, JsonValue][] => {
      if (event !== hook.event || !listed(entries).some(isOwn)) return [[event, entries]];
      const rest = listed(entries).filter((entry) => !isOwn(entry));
      return rest.length === 0 ? [] : [[event, rest]];
    },
  );
  const members = Object.entries(settings).flatMap(([name, value = null]): [string, JsonValue][] =>
    name !== "hooks" ? [[name, value]] : events.length === 0 ? [] : [[name, Object.fromEntries(events)]],
  );
  return Object.fromEntries(members);
}

function isOwn(entry: JsonValue): boolean {
  return JSON.stringify(entry).includes(MARK);
}

function listed(entries: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(entries) ? entries : [];
}

function readSettings(file: string): JsonObject {
  if (!existsSync(file)) return {};
  try {
    const settings = parseAnswer(readFileSync(file, "utf8"));
    if (isJsonObject(settings)) return settings;
  } catch {
    // The same text for what is no JSON, such as a file with comments.
  }
  throw new InstallError(`'${file}' is not a JSON object without comments: Sandgate does not change it`);
}

function backupOf(file: string): string {
  return `${file}.sandgate-backup`;
}

/** Through a link, the file that it leads to is replaced, as people have their settings in repositories. */
function replace(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const real = existsSync(file) ? realpathSync(file) : file;
  const mode = existsSync(real) ? lstatSync(real).mode & 0o755 : 0o644;
  writeFileSync(`${real}.sandgate-new`, text, { mode });
  renameSync(`${real}.sandgate-new`, real);
}
