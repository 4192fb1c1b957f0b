import { randomBytes } from "node:crypto";
import { posix } from "node:path";
import { encodedGuardedFiles } from "../base/guarded-files.ts";
import type { OneShotThenable } from "../base/promises.ts";
import { describeThrown } from "../base/thrown.ts";
import { isJsonObject } from "../json/value.ts";
import type { Capabilities } from "../policy/grant/capabilities.ts";
import { type DirectoryGrant, isFileGrant } from "../policy/grant/fs-grant.ts";
import type { ResourceLimits } from "../policy/grant/limits.ts";
import { refuseUnbound } from "../sandboxes/contract/bound-grant.ts";
import type { SandboxOutcome } from "../sandboxes/contract/outcome.ts";
import type { Sandbox, SandboxRouter, SandboxStats, SandboxTask } from "../sandboxes/contract/sandbox.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";
import { GUARD_TOOL_NAMES } from "../toolsets/guard-tools.ts";
import { WorkspaceError } from "../workspace/error.ts";
import { Guard } from "../workspace/guard.ts";
import { Workspace } from "../workspace/workspace.ts";

/** A command that was allowed, with everything under which `sandgate run` confines it. */
export interface ConfinedCommand {
  readonly command: string;
  /** Relative to the workspace. */
  readonly cwd: string;
  readonly workspace: string;
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
  /** The files of the deciding process that no tool may reach, encoded. */
  readonly guarded: string;
}

/** How long an allowed command waits to be started, in ms. */
const TICKET_MS = 10 * 60_000;

/** Maximum number of commands that wait to be started. The oldest are forgotten. */
const MAX_TICKETS = 1_000;

interface Ticket {
  readonly command: ConfinedCommand;
  readonly until: number;
}

/**
 * Sandboxes in which the tools of the toolset `guard` do not run: the agent does what they stand for. What the sandbox would enforce
 * is checked as for any other call; files are looked at as if they were opened; and a command becomes a ticket, with which
 * `sandgate run` gets its grant once.
 */
export class HandingOver implements SandboxRouter {
  readonly #real: SandboxRouter;
  readonly #wrapped = new Map<SandboxMode, Sandbox>();
  readonly #tickets = new Map<string, Ticket>();
  /** By the ids of their calls. */
  readonly #names = new Map<string, string>();

  constructor(real: SandboxRouter) {
    this.#real = real;
  }

  route(mode: SandboxMode): Sandbox | undefined | Promise<Sandbox | undefined> {
    if (mode !== "host" && mode !== "process") return this.#real.route(mode);
    const known = this.#wrapped.get(mode);
    if (known !== undefined) return known;
    const found = this.#real.route(mode);
    return found instanceof Promise ? found.then((real) => this.#wrap(real)) : this.#wrap(found);
  }

  #wrap(real: Sandbox | undefined): Sandbox | undefined {
    if (real === undefined) return undefined;
    const run = (task: SandboxTask): SandboxOutcome | OneShotThenable<SandboxOutcome> =>
      GUARD_TOOL_NAMES.has(task.toolName) ? this.#run(task, real.mode) : real.run(task);
    // Everything but `run` is that of the sandbox itself.
    const wrapped = new Proxy(real, {
      get: (target, name) => {
        if (name === "run") return run;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    this.#wrapped.set(real.mode, wrapped);
    return wrapped;
  }

  endSession(sessionId: string): void {
    this.#real.endSession?.(sessionId);
  }

  stats(): SandboxStats {
    return this.#real.stats?.() ?? { abandoned: 0, waiting: 0 };
  }

  #run(task: SandboxTask, mode: SandboxMode): SandboxOutcome {
    const refused = refuseUnbound(task, mode);
    if (refused !== undefined) return refused;
    const used = { wallTimeMs: 0 };
    try {
      if (mode === "process") this.#addTicket(task);
      else checkFile(task);
      const output = Object.freeze({ by: "agent", confined: mode === "process" });
      return { status: "completed", output, effect: "unknown", used };
    } catch (error) {
      const { detail } = describeThrown(error);
      const message =
        error instanceof WorkspaceError ? `Permission denied: ${error.message}` : "Permission denied";
      return { status: "failed", code: "permission_denied", message, detail, effect: "none", used };
    }
  }

  #addTicket({ callId, workspace, input, limits, capabilities }: SandboxTask): void {
    if (workspace === undefined || !isJsonObject(input))
      throw new WorkspaceError("not-permitted", "there is no workspace");
    const { command, cwd = "." } = input;
    const ticket = randomBytes(18).toString("base64url");
    const confined = {
      command: String(command),
      cwd: String(cwd),
      workspace,
      limits,
      capabilities,
      guarded: encodedGuardedFiles(),
    };
    this.#tickets.set(ticket, { command: confined, until: performance.now() + TICKET_MS });
    this.#names.set(callId, ticket);
    const [oldest] = this.#tickets.keys();
    if (this.#tickets.size > MAX_TICKETS && oldest !== undefined) this.#tickets.delete(oldest);
    const [first] = this.#names.keys();
    if (this.#names.size > MAX_TICKETS && first !== undefined) this.#names.delete(first);
  }

  /** Returns the ticket of a command whose call was allowed; `undefined` if it has none, or was asked for before. */
  takeTicket(callId: string): string | undefined {
    const ticket = this.#names.get(callId);
    this.#names.delete(callId);
    return ticket;
  }

  /** Returns what a ticket allows, once; `undefined` if it is unknown, too old, or for another command. */
  redeem(ticket: string, command: string): ConfinedCommand | undefined {
    const found = this.#tickets.get(ticket);
    if (found === undefined || found.command.command !== command) return undefined;
    this.#tickets.delete(ticket);
    return performance.now() < found.until ? found.command : undefined;
  }
}

/**
 * Looks whether the grant lets a tool open a file as the agent is about to: within a granted directory, no link that leads out, not a
 * file of Sandgate, and for writing no protected place. The agent opens it later, by itself: a program that runs beside it could
 * replace the file in between.
 *
 * @throws {WorkspaceError}
 */
function checkFile({ toolName, workspace, input, capabilities: { fs = [] } }: SandboxTask): void {
  const access = ACCESS[toolName];
  if (access === undefined || workspace === undefined || !isJsonObject(input)) return;
  const path = posix.join(workspace, String(input["path"]));
  const isBelow = (directory: string): boolean => path === directory || path.startsWith(`${directory}/`);
  const grants = fs.filter(
    (grant): grant is DirectoryGrant =>
      !isFileGrant(grant) && isBelow(grant.directory) && (access === "read" || grant.write === true),
  );
  const grant = grants.toSorted((a, b) => b.directory.length - a.directory.length).at(0);
  if (grant === undefined)
    throw new WorkspaceError("not-permitted", `no directory is granted for this (${access})`);
  const { at: _, ...root } = grant;
  using opened = new Workspace([root], Number.POSITIVE_INFINITY);
  const directory = opened.directories[0]?.directory;
  const name = posix.relative(grant.directory, path) || ".";
  if (directory === undefined) return;
  if (access === "write") {
    for (let place = name; ; ) {
      try {
        // Begins a new version, and drops it: everything is checked, and nothing is changed.
        directory.replace(place, { create: true })[Symbol.dispose]();
        return;
      } catch (error) {
        const above = posix.dirname(place);
        const isMissing = error instanceof WorkspaceError && error.code === "no-entry";
        if (!isMissing || above === ".") throw error;
        place = above;
      }
    }
  }
  try {
    directory.open(name, { follow: true }).close();
  } catch (error) {
    if (!(error instanceof WorkspaceError && error.code === "no-entry")) throw error;
  }
  const hidden = Guard.current()
    ?.placesIn(path)
    .some(({ access: guarded }) => guarded === "none");
  if (hidden)
    throw new WorkspaceError("not-permitted", "keys or tokens of Sandgate are below this directory");
}

const ACCESS: Readonly<Record<string, "read" | "write">> = {
  read_file: "read",
  search_files: "read",
  write_file: "write",
  delete_file: "write",
};
