import { createHash, randomUUID } from "node:crypto";
import { lstatSync, realpathSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { race } from "../base/timers.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { ToolCall } from "../engine/call.ts";
import { canonicalText } from "../json/canonical.ts";
import { parseJson } from "../json/parse.ts";
import { ARGUMENT_BOUNDS } from "../json/refusal.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { Guard } from "../workspace/guard.ts";
import { PathResolver, ResolvedPath } from "../workspace/resolve-path.ts";
import { type Action, type AgentCall, type Decision, type GuardedAgent, MappingError } from "./agent.ts";
import type { HandingOver } from "./handover.ts";

/** The word with which an agent begins a command that it needs without confinement. A person is asked then. */
const UNCONFINED = /^\s*sandgate-unconfined\s+(?=\S)/;

/** How long a call is waited for, in ms: a person may be asked, but the hook has to answer before the agent's own limit. */
const DECISION_MS = 6_000;

/** How long an answer that an agent did not fetch is remembered, in ms. */
const REMEMBERED_MS = 10 * 60_000;

/** Maximum number of calls that are remembered. */
const MAX_REMEMBERED = 1_000;

/** A file that is written stands in it as a whole. */
const INPUT_BOUNDS = { ...ARGUMENT_BOUNDS, length: 16 * 1_024 * 1_024 };

/** Maximum number of open conversations of an agent. */
const MAX_SESSIONS = 200;

/** The parts of a server with which calls of agents are decided on. */
export interface DeciderParts {
  readonly sessions: Sessions;
  readonly handingOver: HandingOver;
  /** Absolute paths without links. An agent works in the deepest one that contains its working directory. */
  readonly workspaces: readonly string[];
  /** Returns where a person answers a confirmation. */
  readonly linkOf: (confirmationId: string) => string;
  /** The command that runs a confined one, and its arguments; the ticket and the command follow. */
  readonly runner: readonly string[];
}

/** A call that was begun: the same one is not begun again. */
interface Begun {
  readonly results: Promise<readonly (ToolExecution | null)[]>;
  /** The confirmations that are open. */
  readonly open: Set<string>;
  /** Resolves to a confirmation while one is open. */
  asked: PromiseWithResolvers<string>;
  readonly until: number;
  hasEnded: boolean;
}

/** Decides on the calls of agents as the calls of a session, each of which is in a turn of its own. */
export class Decider {
  readonly #parts: DeciderParts;
  readonly #begun = new Map<string, Begun>();

  constructor(parts: DeciderParts) {
    this.#parts = parts;
  }

  /**
   * Decides on one call of an agent's tool. Never rejects: what cannot be decided on is denied.
   *
   * @param input As the agent sent it: JSON text.
   */
  async decide(agent: GuardedAgent, input: string): Promise<{ decision: Decision; input: JsonObject }> {
    try {
      const parsed = parseJson(input, INPUT_BOUNDS);
      if (!("value" in parsed)) throw new MappingError(`the input of the hook is no JSON: ${parsed.reason}`);
      const { value } = parsed;
      if (!isJsonObject(value)) throw new MappingError("the input of the hook is not an object");
      return { decision: await this.#decide(agent, agent.read(value)), input: value };
    } catch (error) {
      const why = error instanceof MappingError ? error.message : "Sandgate could not decide on it";
      return { decision: deny(`This call was blocked: ${why}`), input: {} };
    }
  }

  async #decide(agent: GuardedAgent, call: AgentCall): Promise<Decision> {
    if (!isAbsolute(call.cwd)) throw new MappingError("the working directory is not absolute");
    const workspace = this.#workspaceOf(call.cwd);
    const placed = call.actions.map((action) => place(action, call.cwd, workspace, agent.rewrites));
    const session = await this.#sessionOf(agent, call, workspace);
    const key = digest([session.id, ...placed.map(({ name, arguments: given }) => [name, given])]);
    const begun = this.#begun.get(key) ?? this.#begin(key, session, placed);
    const settled = await race(Promise.race([begun.results, begun.asked.promise]), {
      timeoutMs: DECISION_MS,
    });
    if (settled === "timeout") return deny("Sandgate took too long to decide on this call. Repeat it.");
    if (typeof settled === "string") {
      const link = this.#parts.linkOf(settled);
      return deny(
        `A person has to allow this first, at ${link} . Ask the user to answer there, and then repeat exactly the same call: it runs once.`,
      );
    }
    // The same call at the same time has taken the results, which stand for one call.
    if (this.#begun.get(key) !== begun) return this.#decide(agent, call);
    return this.#answer(key, settled, agent, placed);
  }

  #answer(
    key: string,
    results: readonly (ToolExecution | null)[],
    agent: GuardedAgent,
    placed: readonly Placed[],
  ): Decision {
    const failed = results.find((result) => result?.success !== true);
    if (failed !== undefined || results.length !== placed.length) {
      const isPersons = failed?.error?.code === "user_denied";
      // A person is not asked again at once about what they have denied.
      if (!isPersons) this.#begun.delete(key);
      const [open] = this.#parts.sessions.openConfirmations();
      const isCrowded = open !== undefined && failed?.error?.message.endsWith("no approver is available");
      const reason = isCrowded
        ? `Too many calls wait for a person already. Ask the user to answer them, at ${this.#parts.linkOf(open.id)} .`
        : (failed?.error?.message ?? "Sandgate blocked this call.");
      const hint = agent.rewrites && placed.some(({ name }) => name === "run_command") ? CONFINED_HINT : "";
      return deny(`${reason}${isPersons ? "" : hint}`);
    }
    this.#begun.delete(key);
    const commands = placed.flatMap(({ name, command, isUnwrapped }, index) => {
      if (command === undefined) return [];
      if (name !== "run_command") return isUnwrapped ? [command] : [];
      const ticket = this.#parts.handingOver.takeTicket(results[index]?.callId ?? "");
      return ticket === undefined ? ["exit 126"] : [this.#confined(ticket, command)];
    });
    return commands.length === 0 ? { decision: "allow" } : { decision: "rewrite", commands };
  }

  #confined(ticket: string, command: string): string {
    return [...this.#parts.runner, "--ticket", ticket, "--", command].map(quote).join(" ");
  }

  #begin(key: string, session: Session, placed: readonly Placed[]): Begun {
    this.#forgetOld();
    const turn = session.turn();
    const calls = placed.map(
      ({ name, arguments: given }): ToolCall => ({
        id: randomUUID(),
        name,
        arguments: JSON.stringify(given),
      }),
    );
    const begun: Begun = {
      // Not as one message: it would wait for the earlier ones, about which a person may be asked.
      results: Promise.all(calls.map((call) => turn.dispatch(call))),
      open: new Set(),
      asked: Promise.withResolvers(),
      until: performance.now() + REMEMBERED_MS,
      hasEnded: false,
    };
    const stop = this.#parts.sessions.onConfirmation(({ type, confirmation }) => {
      if (confirmation.turnId !== turn.id || confirmation.sessionId !== session.id) return;
      if (type === "requested") begun.open.add(confirmation.id);
      else begun.open.delete(confirmation.id);
      // After the answer, an agent that repeats the call waits until it has ended.
      if (type !== "requested") begun.asked = Promise.withResolvers();
      const [open] = begun.open;
      if (open !== undefined) begun.asked.resolve(open);
    });
    const end = (): void => {
      begun.hasEnded = true;
      stop();
    };
    begun.results.then(end, () => {
      end();
      this.#begun.delete(key);
    });
    this.#begun.set(key, begun);
    return begun;
  }

  #forgetOld(): void {
    const now = performance.now();
    for (const [key, { until, hasEnded }] of this.#begun)
      if (hasEnded && (now > until || this.#begun.size >= MAX_REMEMBERED)) this.#begun.delete(key);
    if (this.#begun.size >= MAX_REMEMBERED) throw new MappingError("too many calls wait for a person");
  }

  #workspaceOf(cwd: string): string | undefined {
    const real = realPath(cwd);
    return this.#parts.workspaces
      .filter((workspace) => isIn(real, workspace))
      .toSorted((a, b) => b.length - a.length)
      .at(0);
  }

  /** The sessions of agents are those of this process: what a person allows later, no agent would fetch. */
  async #sessionOf(agent: GuardedAgent, call: AgentCall, workspace: string | undefined): Promise<Session> {
    const id = `guard:${agent.name}:${digest([call.sessionId, workspace ?? null]).slice(0, 32)}`;
    const { sessions } = this.#parts;
    const known = sessions.get(id);
    if (known !== undefined) return known;
    const own = sessions.list().filter(({ principal }) => principal?.id === agent.name);
    for (const session of own.slice(0, Math.max(0, own.length - MAX_SESSIONS))) {
      if (session.openConfirmations().length === 0) await session.close();
    }
    try {
      return await sessions.open({
        id,
        name: agent.title,
        principal: { id: agent.name, kind: "agent" },
        durable: false,
        ...(workspace !== undefined && { workspace }),
      });
    } catch (error) {
      // Another call of the conversation has opened it meanwhile.
      const opened = sessions.get(id);
      if (opened === undefined) throw error;
      return opened;
    }
  }
}

const CONFINED_HINT =
  " If the command needs more than the sandbox gives, begin it with `sandgate-unconfined `: then a person is asked whether it may run without.";

/** An action as a call of a tool of the toolset `guard`. */
interface Placed {
  readonly name: string;
  readonly arguments: JsonObject;
  /** Of a command. */
  readonly command?: string;
  /** Whether the agent has to run it in another form than it sent. */
  readonly isUnwrapped?: boolean;
}

type FileKind = "read" | "search" | "write" | "delete";

/** Finds out where an action leads. */
function place(action: Action, cwd: string, workspace: string | undefined, canRewrite: boolean): Placed {
  if (action.kind === "other") return { name: action.tool, arguments: action.arguments };
  if (action.kind === "command") {
    const { command } = action;
    const at = realPath(action.cwd);
    const marker = UNCONFINED.exec(command)?.[0];
    if (canRewrite && marker === undefined && workspace !== undefined && isIn(at, workspace)) {
      const here = relative(workspace, at) || ".";
      return { name: "run_command", arguments: { command, cwd: here }, command };
    }
    const whole = canRewrite ? command.slice(marker?.length ?? 0) : command;
    const isUnwrapped = canRewrite && marker !== undefined;
    return {
      name: "run_unconfined_command",
      arguments: { command: whole, cwd: at },
      command: whole,
      isUnwrapped,
    };
  }
  if (/^[~$%]/.test(action.path)) throw new MappingError("a path must not begin with '~', '$' or '%'");
  refuseAmbiguous(action.path);
  const resolved = resolvedPath(realPath(cwd), action.path);
  const real = `/${resolved.path === "." ? "" : resolved.path}`;
  const isInside = workspace !== undefined && isIn(real, workspace);
  const path = isInside ? relative(workspace, real) || "." : real;
  const more: Record<string, JsonValue> =
    "change" in action
      ? { change: action.change }
      : action.query === undefined
        ? {}
        : { query: action.query };
  if (!isInside) refuseProtected(resolved, real, action.kind);
  return { name: (isInside ? INSIDE : OUTSIDE)[action.kind], arguments: { path, ...more } };
}

/**
 * Agents do not all take a path as it is written: some take blanks off its ends, normalize its characters, or read a URL.
 *
 * @throws {MappingError} if such a path could lead elsewhere than it does for the system.
 */
function refuseAmbiguous(path: string): void {
  if (path.trim() !== path || /^["'\u200b\u2060]|["'\u200b\u2060]$/.test(path))
    throw new MappingError("a path must not begin or end with blanks or quotation marks");
  if (/^file:/i.test(path) || path.includes("\\") || path.normalize("NFC") !== path)
    throw new MappingError(
      "a path must be no URL, without backslashes, and with composed characters (NFC): agents read others differently",
    );
}

const INSIDE = {
  read: "read_file",
  search: "search_files",
  write: "write_file",
  delete: "delete_file",
} as const;
const OUTSIDE = {
  read: "read_outside",
  search: "read_outside",
  write: "write_outside",
  delete: "write_outside",
} as const;

/**
 * No grant and no person opens these for an agent: files of Sandgate and of the agents, and what chooses which programs run.
 *
 * @throws {MappingError}
 */
function refuseProtected(resolved: ResolvedPath, path: string, kind: FileKind): void {
  const guard = Guard.current();
  const stats = lstatSync(path, { throwIfNoEntry: false });
  const linked = stats?.isFile() && stats.nlink > 1 ? guard?.accessByLink(stats) : undefined;
  const below = guard?.placesIn(path).map(({ access }) => access) ?? [];
  const accesses = [guard?.accessTo(path), linked, ...(kind === "read" ? [] : below)];
  const isRead = kind === "read" || kind === "search";
  if (accesses.some((access) => access === "none" || (access === "read" && !isRead)))
    throw new MappingError("the path leads to files of Sandgate, or to settings of an agent");
  if (isRead) return;
  const [place] = resolved.protectedPlaces({ named: [], writesProtected: undefined });
  if (place?.list === "denied")
    throw new MappingError(
      `'${place.path}' is protected, since it ${place.reason}: only people may change it`,
    );
}

/** @throws {MappingError} for what leads nowhere, or to another place than it says. */
function resolvedPath(cwd: string, written: string): ResolvedPath {
  using resolver = new PathResolver("/");
  // As it was written, too: what resolves `..` before links gets elsewhere than the system.
  const asWritten = isAbsolute(written) ? written : `${cwd}/${written}`;
  const [one, other] = [resolve(cwd, written), asWritten].map((path) => resolver.resolve(path));
  if (!(one instanceof ResolvedPath) || !(other instanceof ResolvedPath) || one.path !== other.path)
    throw new MappingError("a path cannot be resolved: write it without links and '..'");
  return one;
}

/** Returns a working directory without links. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    throw new MappingError("the working directory does not exist");
  }
}

function isIn(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

function digest(value: JsonValue): string {
  return createHash("sha256").update(canonicalText(value)).digest("hex");
}

function deny(reason: string): Decision {
  return { decision: "deny", reason };
}

/**
 * Quotes a word so that POSIX shells and fish read the same: in single quotes, these interpret nothing, and fish only a backslash, which
 * is in double quotes therefore.
 */
export function quote(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replace(/'+|\\+/g, (run) => (run.startsWith("'") ? `'"${run}"'` : `'"${run}${run}"'`))}'`;
}
