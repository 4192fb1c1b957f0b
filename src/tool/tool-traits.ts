import type { JsonObject, JsonValue } from "../json/value.ts";
import type { Principal } from "./principal.ts";
import type { SideEffects } from "./side-effects.ts";

/**
 * What a tool declares about itself besides its name, its schema and its implementations. All of it is checked when the
 * tool is registered. A third-party tool can declare anything: these members can make a call stricter
 * or more convenient, and never grant anything.
 */
export interface ToolTraits {
  /** The worst that the tool can do. Default: `"destructive"`, so that no policy underestimates a tool. */
  readonly sideEffects?: SideEffects;
  /** A name for people. Default: none. */
  readonly title?: string;
  /** Labels that policies and sessions can match. Default: none. */
  readonly tags?: readonly string[];
  /** The JSON Schema of the output. An output that does not match it fails the call. Default: any output. */
  readonly outputSchema?: JsonObject;
  /** Hints for clients, such as the annotations of an MCP tool. Default: none. */
  readonly annotations?: JsonObject;
  /** Milliseconds of wall time, in place of the default. A grant can only shorten it. Default: see the context. */
  readonly timeoutMs?: number;
  /** Whether repeating a call has no further effect. Default: `false`. */
  readonly idempotent?: boolean;
  /** How many calls of the tool a session may run at once. Default: no limit of its own. */
  readonly maxConcurrent?: number;
  /**
   * Whether a session asks a person before a call. Default: as the class of the tool says.
   *
   * - `auto`: it does not, and `prompt`: it does, if neither the configuration nor an approval says otherwise.
   * - `always`: it does before every call, whatever was remembered or configured.
   * - `plan`: likewise. The call submits a plan: a person who allows it approves the plan, after which more than reading is
   *   allowed in the mode `plan`.
   */
  readonly confirm?: "auto" | "prompt" | "always" | "plan";
  /**
   * The arguments that are paths, and what the tool does there. Before the policy decides, a call is refused if one of them
   * leads out of the session's workspace (`permission_denied`), or cannot be a path (`validation_error`). Default: none.
   */
  readonly paths?: readonly PathArgument[];
  /**
   * The arguments that are URLs. Before the policy decides, a call is refused (`validation_error`) if one of them is no
   * `http:` or `https:` URL, or has credentials. Default: none.
   */
  readonly urls?: readonly UrlArgument[];
  /**
   * Whether the host implementation reads and writes files only through `context.files`. Only such a tool can be granted
   * `fs` in the host sandbox. `staged`: it also changes nothing else, so that its changes can be staged: a session in the
   * mode `review` or `audit` runs it without asking, if it is a function or a factory. Default: `false`.
   */
  readonly usesFiles?: boolean | "staged";
  /**
   * Whether a supervised agent needs the tool among its capabilities to call it. The paths and URLs of the call are checked
   * either way. `false` is for tools of your own that every agent may call. Default: `true`.
   */
  readonly requiresCapability?: boolean;
  /**
   * Whether the files that the host implementation opens by itself, without `context.files`, are logged at level `warn` with
   * the name of the tool (`tool.log`). Best effort, and nothing is refused: see docs/host-tools.md. Default: `true`
   * for a tool that declares `paths` without `usesFiles`, otherwise `false`.
   */
  readonly logFileAccess?: boolean;
  /** Whether a session offers the tool to its model. Default: in every session. */
  readonly visibleTo?: (session: SessionInfo) => boolean;
  /**
   * What a call would change, such as paths, as a person who confirms the call sees it: at most 100 lines. Default: the
   * arguments in `paths` with `write`.
   */
  readonly projectChanges?: (input: never, context: ProgramContext) => readonly string[];
  /**
   * Checks a call that has its grant, before a person is asked and before anything runs. Returns the problems, as
   * `/path message`: the model reads them as a `validation_error`. Called again if a person changes the arguments.
   * Default: no check.
   */
  readonly preflight?: (
    input: never,
    context: PreflightContext,
  ) => readonly string[] | Promise<readonly string[]>;
  /**
   * Returns how the model reads an output that is no content. The output itself is for code: programs that call the tool, MCP's
   * `structuredContent`, the journal. Must return at once; if it throws, the default applies. Default: a text as it is, and
   * anything else as JSON.
   */
  readonly modelText?: (output: never, reader: ModelReader) => string;
  /**
   * Whether the model also reads what the tool did: a line for each call that it made of another tool, and the beginning
   * and the end of what it logged. Default: `false`.
   */
  readonly reportsWork?: boolean;
  /**
   * Whether a host function of this process needs `context.canCall`, or a JavaScript tool `context.tools.names`. Default:
   * `false`.
   */
  readonly searchesTools?: boolean;
  /**
   * What the model reads if a host implementation throws anything but a `ToolFailure`: the message of the error, or only
   * a reference under which the event has it. Default: that of the context.
   */
  readonly unhandledErrors?: "message" | "redacted";
}

/** For whom {@link ToolTraits.modelText} writes. */
export interface ModelReader {
  /** The characters (UTF-16 code units) that the model reads: of a longer text, it reads the beginning and the end. */
  readonly chars: number;
  /** The arguments of the call. */
  readonly input: JsonValue;
  /** The name of the tool, for texts that say how to continue. */
  readonly toolName: string;
}

/** What a tool says of the files and servers that its calls use. */
export type ToolAccess = Pick<ToolTraits, "paths" | "urls" | "requiresCapability">;

/** Returns what policies see of the files and servers that a tool uses. Members that say nothing are absent. */
export function accessTo({ usesFiles, paths, urls, requiresCapability }: ToolTraits): {
  readonly usesFiles?: true;
  readonly access?: ToolAccess;
} {
  const hasAccess = paths !== undefined || urls !== undefined || requiresCapability === false;
  const access: ToolAccess = {
    ...(paths && { paths }),
    ...(urls && { urls }),
    ...(requiresCapability === false && { requiresCapability }),
  };
  return { ...(usesFiles && { usesFiles: true }), ...(hasAccess && { access: Object.freeze(access) }) };
}

/** An argument that is a path. */
export interface PathArgument {
  /** A JSON pointer (RFC 6901) into the arguments, such as `/path`. `*` stands for every item: `/files/*`. */
  readonly argument: string;
  readonly access: "read" | "write";
  /**
   * Whether a person is asked about protected places at these paths even if the tool is a program, or
   * programs run what is there, and opens them for the call. Default: `false`; only a host tool can have a
   * person asked, and only about places that others follow.
   */
  readonly opensProtected?: boolean;
}

/** Where a path in the arguments of a call leads. */
export interface ArgumentPath {
  /** A JSON pointer to the argument, without `*`: `/files/0`. */
  readonly argument: string;
  /** Relative to the session's workspace, without `.`, `..`, empty names and links; `.` for the workspace itself. */
  readonly path: string;
  /** The paths by which it leads there through links, in the same form. Default: it leads through none. */
  readonly links?: readonly string[];
}

/** An argument that is a URL. */
export interface UrlArgument {
  /** A JSON pointer (RFC 6901) into the arguments, such as `/url`. `*` stands for every item: `/urls/*`. */
  readonly argument: string;
}

/** A session, as {@link ToolTraits.visibleTo} sees it. */
export interface SessionInfo {
  readonly id: string;
  readonly kind: "main" | "worker";
  readonly principal?: Principal;
}

/** What the functions of a `ProcessImplementation`, and `projectChanges`, know about a call besides its arguments. */
export interface ProgramContext {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  readonly turnId?: string | undefined;
  /** The caller, frozen; absent if the context does not name one. */
  readonly principal?: Principal | undefined;
  /** The absolute path of the session's workspace on this machine, if it has one. */
  readonly workspace?: string | undefined;
  /** `DispatchContext.embedder`, as it is. It does not leave this process. */
  readonly embedder?: unknown;
}

/** What a tool's `preflight` knows about its call. */
export interface PreflightContext {
  /**
   * Returns why the call could not call another tool: it does not exist, or the grant does not give it. `undefined` if it
   * could; the policy decides on the call itself.
   */
  readonly refusalOf: (name: string) => string | undefined;
  /**
   * Validates arguments of another tool as a call of it would.
   *
   * @returns every problem; an empty list even if the tool does not exist.
   */
  readonly problemsOf: (
    name: string,
    args: JsonValue,
  ) => readonly { readonly path: string; readonly message: string }[];
  /** The caller, frozen; `undefined` if the context does not name one. */
  readonly principal: Principal | undefined;
  /** `DispatchContext.embedder`, as it is. */
  readonly embedder?: unknown;
  /** Aborted if the call is cancelled; absent if it cannot be. */
  readonly signal: AbortSignal | undefined;
}
