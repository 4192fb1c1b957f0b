import { resolve } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";

/** What an agent would do, before it is known where its paths lead. */
export type Action =
  | { readonly kind: "command"; readonly command: string; readonly cwd: string }
  /** Reads a file, or lists or searches below a directory. */
  | { readonly kind: "read" | "search"; readonly path: string; readonly query?: JsonObject }
  | { readonly kind: "write" | "delete"; readonly path: string; readonly change: JsonObject }
  /** Any other tool, with its arguments. */
  | { readonly kind: "other"; readonly tool: OtherTool; readonly arguments: JsonObject };

/** Tools of the toolset `guard` that are neither files nor commands. */
type OtherTool = "web_fetch" | "web_search" | "call_mcp_tool" | "agent_step" | "use_unknown_tool";

/** A call of an agent's tool. */
export interface AgentCall {
  /** The agent's own name of its conversation. Not trusted. */
  readonly sessionId: string;
  /** Absolute. Not trusted: some agents put the working directory of one command there. */
  readonly cwd: string;
  /** At least one. */
  readonly actions: readonly Action[];
}

/** What the hook tells an agent. */
export type Decision =
  /** Nothing is objected to: what the agent asks its own user about, it still asks. */
  | { readonly decision: "allow" }
  | { readonly decision: "deny"; readonly reason: string }
  /** Allowed in this form: one command for each command of the call. */
  | { readonly decision: "rewrite"; readonly commands: readonly string[] };

/** A way of an agent past its hook. */
export interface Gap {
  /** The tool, setting or file. */
  readonly what: string;
  readonly gap: string;
}

/** With what a plugin asks what decides. */
export interface PluginParts {
  /** Asks, and starts what decides if nothing does. Without a shell. */
  readonly command: readonly string[];
  /** The folder of the socket and the secret, and the SHA-256 of the secret, in hex. Absent: only the command asks. */
  readonly quick: { readonly folder: string; readonly pin: string } | undefined;
}

/** Where an agent has its hook. */
export type HookPlace =
  | {
      readonly kind: "json";
      /** Below the home directory. */
      readonly path: string;
      /** A file of the machine that the settings of a project do not switch off. Absent if there is none. */
      readonly managed?: string;
      /** The member of `hooks`. */
      readonly event: string;
      /** Of the hook's entry, beside its command. */
      readonly entry: JsonObject;
    }
  | {
      readonly kind: "plugin";
      readonly path: string;
      /** Returns the file. */
      readonly source: (parts: PluginParts) => string;
    };

/** A coding agent: how its hook is configured, what it sends, and what it understands. */
export interface GuardedAgent {
  readonly name: string;
  readonly title: string;
  readonly hook: HookPlace;
  /** Other files that choose what the agent runs, below the home directory. */
  readonly settings: readonly string[];
  /** Whether its hook can replace a command. */
  readonly rewrites: boolean;
  readonly gaps: readonly Gap[];
  /** @throws {MappingError} if the input is not one that the agent is known to send. */
  read(input: JsonObject): AgentCall;
  /** What the hook writes. `{}` stands for no objection. */
  write(decision: Decision, input: JsonObject): JsonObject;
}

/** The input of a hook cannot be mapped. The message says why. */
export class MappingError extends Error {
  override readonly name = "MappingError";
}

/** Returns a member that must be a text without NUL characters and lone surrogates. */
export function text(input: JsonObject, name: string): string {
  const value = input[name];
  if (typeof value !== "string") throw new MappingError(`'${name}' is not a text`);
  if (value.includes("\0") || !value.isWellFormed())
    throw new MappingError(`'${name}' has characters that no command or path can have`);
  return value;
}

/** Returns a member that may be absent, `null` or empty. */
export function optionalText(input: JsonObject, name: string): string | undefined {
  const value = input[name];
  return value === undefined || value === null || value === "" ? undefined : text(input, name);
}

export function object(input: JsonObject, name: string): JsonObject {
  const value: JsonValue | undefined = input[name];
  if (isJsonObject(value)) return value;
  throw new MappingError(`'${name}' is not an object`);
}

/** How a tool of an agent is mapped. */
export interface ToolMapping {
  /** The members that it may have. A call with any other is that of an unknown tool, since nobody knows what it does. */
  readonly members?: readonly string[];
  readonly actions: (input: JsonObject, cwd: string) => readonly Action[];
}

/** Maps a call by a table of tools. Tools that are not in it are unknown. */
export function mapped(
  tools: Readonly<Record<string, ToolMapping>>,
  name: string,
  input: JsonObject,
  cwd: string,
): readonly Action[] {
  const mapping = Object.hasOwn(tools, name) ? tools[name] : undefined;
  const { members } = mapping ?? {};
  const isKnown = members === undefined || Object.keys(input).every((key) => members.includes(key));
  const actions = isKnown ? mapping?.actions(input, cwd) : undefined;
  return actions === undefined || actions.length === 0 ? [unknown(name, input)] : actions;
}

export function unknown(tool: string, input: JsonObject): Action {
  return { kind: "other", tool: "use_unknown_tool", arguments: { tool, arguments: input } };
}

export function mcpCall(server: string, tool: string, input: JsonObject): Action {
  return { kind: "other", tool: "call_mcp_tool", arguments: { server, tool, arguments: input } };
}

/** A command as the whole of what a tool does, whatever else its input says: where it may run is decided, not what it says. */
export const COMMAND: ToolMapping = {
  actions: (input, cwd) => [{ kind: "command", command: text(input, "command"), cwd }],
};

/** The same, in a directory that one of these members may name, relative to the working directory. */
export function commandIn(directories: readonly string[]): ToolMapping {
  return {
    actions: (input, cwd) => {
      const named = directories.reduce<string | undefined>(
        (found, name) => found ?? optionalText(input, name),
        undefined,
      );
      return [{ kind: "command", command: text(input, "command"), cwd: resolve(cwd, named ?? ".") }];
    },
  };
}

export function reads(path: string, members: readonly string[]): ToolMapping {
  return {
    members: [path, ...members],
    actions: (input) => [{ kind: "read", path: text(input, path) }],
  };
}

export function writes(path: string, members: readonly string[]): ToolMapping {
  return {
    members: [path, ...members],
    actions: (input) => [{ kind: "write", path: text(input, path), change: without(input, path) }],
  };
}

/** A search below a directory, and below where its pattern begins: `/etc/*` and `../*` lead elsewhere. */
export function searches(
  directory: readonly string[],
  patterns: readonly string[],
  members: readonly string[] = [],
): ToolMapping {
  return {
    members: [...directory, ...patterns, ...members],
    actions: (input, cwd) => {
      const path = directory.flatMap((name) => optionalText(input, name) ?? []).at(0) ?? cwd;
      const begins = patterns.flatMap((name) => begin(optionalText(input, name)));
      return ["", ...begins].map((start): Action => {
        const place = start === "" ? path : start.startsWith("/") ? start : `${path}/${start}`;
        return { kind: "search", path: place, query: input };
      });
    },
  };
}

/** Returns the directories that a pattern names before its first wildcard, if they lead out of where it is applied. */
function begin(pattern = ""): readonly string[] {
  // In braces and lists, any part may be the beginning: `{/etc/*,src}`.
  return pattern.split(/[{},\s]+/).flatMap((part) => {
    const names = part.replaceAll("\\", "").split("/");
    const wild = names.findIndex((name) => /[*?[(]/.test(name));
    const start = (wild < 0 ? names : names.slice(0, wild)).join("/");
    if (names.includes("..") || /^[~$]/.test(part)) {
      if (wild >= 0 && names.indexOf("..") > wild) throw new MappingError("a pattern leads out by '..'");
      return [start === "" ? "/" : start];
    }
    return part.startsWith("/") ? [start === "" ? "/" : start] : [];
  });
}

/** Fetches a page that a member names. */
export function fetches(url: string, members: readonly string[]): ToolMapping {
  return {
    members: [url, ...members],
    actions: (input) => [{ kind: "other", tool: "web_fetch", arguments: { url: text(input, url) } }],
  };
}

/** Has the provider search. */
export const WEB_SEARCH: ToolMapping = {
  actions: (input) => [
    { kind: "other", tool: "web_search", arguments: { query: optionalText(input, "query") ?? "" } },
  ],
};

/** Steps that reach nothing outside of the agent; its other tools fire the hook themselves. */
export function steps(names: readonly string[]): Readonly<Record<string, ToolMapping>> {
  const actions =
    (tool: string) =>
    (input: JsonObject): readonly Action[] => [
      { kind: "other", tool: "agent_step", arguments: { tool, arguments: input } },
    ];
  return Object.fromEntries(names.map((name) => [name, { actions: actions(name) }]));
}

function without(input: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(input).filter(([key]) => key !== name));
}

/** Replaces the command of a tool's input. */
export function withCommand(input: JsonObject, decision: Decision & { decision: "rewrite" }): JsonObject {
  return { ...input, command: decision.commands[0] ?? "exit 126" };
}
