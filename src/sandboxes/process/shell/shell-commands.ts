import { performance } from "node:perf_hooks";
import { describeThrown } from "../../../base/thrown.ts";
import { race } from "../../../base/timers.ts";
import type { ResourceLimits } from "../../../policy/grant/limits.ts";
import type { ProcessImplementation } from "../../../tool/implementations/process-implementation.ts";
import { ToolFailure } from "../../../tool/tool-failure.ts";
import type { GuestMemory } from "../../contract/guest-memory.ts";
import type { SandboxOutcome } from "../../contract/outcome.ts";
import { ownerOf as callOwnerOf, type SandboxTask } from "../../contract/sandbox.ts";
import type { Cgroup, Cgroups } from "../cgroups.ts";
import type { GrantedFiles, Launcher } from "../launcher.ts";
import { PROCESS_DEFAULTS } from "../process-limits.ts";
import type { EarlyEndTimes, Program } from "../program.ts";
import { failedStart, lostProgram, ProgramChanges, unavailableStart } from "../program-outcome.ts";
import { PersistentShell } from "./persistent-shell.ts";
import { ShellCall } from "./shell-call.ts";

interface ShellOwner {
  readonly principal: string | undefined;
  readonly sessionId: string;
  readonly toolName: string;
}

/** The place of an owner's shell. Calls of it take turns. */
interface ShellPlace {
  readonly owner: ShellOwner;
  /** The shell, and the terms under which it was started. */
  current: { readonly shell: PersistentShell; readonly terms: ShellTerms } | undefined;
  /** The call whose turn it is. */
  call: ShellCall | undefined;
}

/** The terms under which a shell was started. It serves only calls with the same terms. */
interface ShellTerms {
  /** Compared by identity: a tool that is registered again counts as a different one. */
  readonly tool: object;
  /** The grant and everything that depends on it. */
  readonly grant: string;
}

/** A call of a command for a persistent shell. */
export interface ShellCommand {
  readonly task: SandboxTask;
  readonly tool: ProcessImplementation;
  /** The program that would run it without a persistent shell. */
  readonly program: Program;
  readonly command: string;
  /** When the shell is ended early. */
  readonly times: EarlyEndTimes;
}

/** Runs commands in persistent shells. */
export class ShellCommands {
  readonly #launcher: Launcher;
  readonly #shells: PersistentShells;
  readonly #memory: GuestMemory;
  #closed = false;

  /**
   * @param idleMs Milliseconds after the last command of a shell until it is ended.
   * @param memory The budget for outputs.
   */
  constructor(launcher: Launcher, idleMs: number, memory: GuestMemory) {
    this.#memory = memory;
    this.#launcher = launcher;
    this.#shells = new PersistentShells(idleMs);
  }

  /** Runs a command after the earlier ones of the same shell. Never rejects. */
  async run(request: ShellCommand, cgroups: Cgroups): Promise<SandboxOutcome> {
    const { task } = request;
    const { signal } = task;
    const wallTimeMs = task.limits.wallTimeMs ?? PROCESS_DEFAULTS.wallTimeMs;
    const waitsFrom = performance.now();
    const wait = async (turn: Promise<void>): Promise<SandboxOutcome | undefined> => {
      task.turn?.waits();
      // Only commands of the same session run before it, so it waits at most as long as it may run.
      const waited = await race(turn, { timeoutMs: wallTimeMs, signals: [signal] });
      if (waited === undefined) return undefined;
      const used = { wallTimeMs: 0, waitedMs: Math.round(performance.now() - waitsFrom) };
      if (waited === "aborted") return { status: "cancelled", effect: "none", used };
      return { status: "timeout", hasBegun: false, effect: "none", used };
    };
    return this.#shells.inTurn(ownerOf(task), wait, async (place) => {
      task.turn?.begins();
      const startedAt = performance.now();
      const waitedMs = Math.round(startedAt - waitsFrom);
      const clock = { startedAt, deadlineAt: startedAt + wallTimeMs };
      let hasBegun = false;
      const onBegin = (): void => {
        hasBegun = true;
      };
      try {
        const outcome = await this.#run(request, place, cgroups, clock, onBegin);
        return waitedMs > 0 ? { ...outcome, used: { ...outcome.used, waitedMs } } : outcome;
      } catch (error) {
        if (hasBegun) return lostProgram(error, startedAt);
        if (ToolFailure.is(error)) return failedStart(error);
        return unavailableStart(error);
      }
    });
  }

  async #run(
    { task, tool, program, command, times }: ShellCommand,
    place: ShellPlace,
    cgroups: Cgroups,
    clock: { readonly startedAt: number; readonly deadlineAt: number },
    onBegin: () => void,
  ): Promise<SandboxOutcome> {
    const launcher = this.#launcher;
    const madeBefore = (await place.current?.shell.moveBetweenAside()) ?? [];
    const files = await launcher.openFiles(task.capabilities.fs ?? [], callOwnerOf(task), "call");
    try {
      const changes = new ProgramChanges(tool, program, files.places, task.observer);
      await changes.begin();
      const grant = termsOf(task, program, files);
      if (
        place.current?.terms.tool !== tool ||
        place.current.terms.grant !== grant ||
        !isUsable(place.current.shell)
      )
        await this.#shells.end(place);
      if (this.#closed) return unavailable("the sandbox is closed");
      const isNew = place.current === undefined;
      place.current ??= {
        shell: await this.#start(task, program, place.owner, cgroups),
        terms: { tool, grant },
      };
      const { shell } = place.current;
      shell.launched.keepAlive(true);
      onBegin();
      const call = new ShellCall({
        task,
        tool,
        program,
        launcher,
        files,
        command,
        shell,
        isNew,
        madeBefore,
        ...clock,
        memory: this.#memory,
        times,
      });
      place.call = call;
      const outcome = await changes.addTo(await call.ended);
      await this.#watchBetween(task, place);
      return outcome;
    } finally {
      place.call = undefined;
      await files[Symbol.asyncDispose]();
    }
  }

  /**
   * Watches what background processes create until the next command. If that fails, for example because the
   * command removed the directories, ends the shell with them. Never rejects, since the command has run.
   */
  async #watchBetween(task: SandboxTask, place: ShellPlace): Promise<void> {
    const shell = place.current?.shell;
    if (shell === undefined || shell.isOver) return;
    try {
      if (!(await shell.hasBackground())) return;
      const { fs = [] } = task.capabilities;
      shell.watchBetween(await this.#launcher.openFiles(fs, callOwnerOf(task), "call"));
    } catch (error) {
      const why = describeThrown(error).message;
      task.observer.log("warn", `The shell was ended, as its background processes cannot be watched: ${why}`);
      await this.#shells.end(place).catch(() => {});
    }
  }

  /** @throws {ToolFailure} if there are too many shells. Also throws if the shell cannot be launched. */
  async #start(
    task: SandboxTask,
    program: Program,
    owner: ShellOwner,
    cgroups: Cgroups,
  ): Promise<PersistentShell> {
    const launcher = this.#launcher;
    const { limits } = task;
    // The shell outlives the call, so it opens the files itself.
    const files = await launcher.openFiles(task.capabilities.fs ?? [], callOwnerOf(task), "call");
    let cgroup: Cgroup | undefined;
    try {
      if (this.#closed) throw new Error("the sandbox is closed");
      if (!this.#shells.makeRoom(owner)) throw TOO_MANY();
      cgroup = cgroups.create(limits, launcher.ownProcesses);
      return new PersistentShell({ launcher, program, files, limits, cgroup });
    } catch (error) {
      void files[Symbol.asyncDispose]();
      void cgroup?.[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Ends the shells of a session. */
  endSession(sessionId: string): void {
    this.#shells.endSession(sessionId);
  }

  /** Ends all commands and shells, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#shells.close();
  }
}

/** A shell whose memory ran out between two commands is not usable. */
function isUsable(shell: PersistentShell): boolean {
  return !shell.isOver && shell.cgroup?.ranOutOfMemory !== true;
}

function ownerOf({ principal, sessionId, toolName }: SandboxTask): ShellOwner {
  const id = principal === undefined ? undefined : JSON.stringify([principal.kind, principal.id]);
  return { principal: id, sessionId, toolName };
}

/** The part of a grant that is fixed for a shell, without the limits of each command. */
function termsOf(
  { capabilities, limits }: SandboxTask,
  { env, cwd = "" }: Program,
  files: GrantedFiles,
): string {
  const { memoryBytes, processes, processMemoryBytes, cpuMs }: ResourceLimits = limits;
  const ofProcesses = [memoryBytes, processes, processMemoryBytes, cpuMs].map((limit) => limit ?? 0);
  return JSON.stringify([capabilities, ofProcesses, Object.entries(env), cwd, files.identity]);
}

const TOO_MANY = (): ToolFailure =>
  new ToolFailure(
    "execution_error",
    "Too many persistent shells run commands now: wait until one has ended, or run the command without 'persistent'",
    { effect: "none" },
  );

function unavailable(detail: string): SandboxOutcome {
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}

/** Maximum number of shells, in total and per principal. */
const MAX_SHELLS = 32;

const MAX_OF_PRINCIPAL = 4;

interface Slot extends ShellPlace {
  /** The number of calls that run or wait for their turn. */
  calls: number;
  /** Resolves when all of them have ended. */
  turns: Promise<void>;
  idle: NodeJS.Timeout | undefined;
  /** Whether its session has ended. */
  isOver: boolean;
}

/** The persistent shells of a sandbox, one for each owner. */
class PersistentShells {
  /** In the order in which their last commands ended. */
  readonly #slots = new Map<string, Slot>();
  readonly #ending = new Set<Promise<unknown>>();
  readonly #idleMs: number;

  /** @param idleMs Milliseconds after the last command of a shell until it is ended. */
  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  /**
   * Waits for the turn of a call, and runs it.
   *
   * @param waiting Resolves to `undefined` when it is the call's turn, or to an outcome if the call gives up
   *   waiting.
   * @param run Has exclusive use of the place until it settles.
   */
  async inTurn<Outcome>(
    owner: ShellOwner,
    waiting: (turn: Promise<void>) => Promise<Outcome | undefined>,
    run: (place: ShellPlace) => Promise<Outcome>,
  ): Promise<Outcome> {
    const key = JSON.stringify([owner.principal, owner.sessionId, owner.toolName]);
    const slot = this.#slots.get(key) ?? newSlot(owner);
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn = slot.turns;
    slot.turns = turn.then(() => promise);
    slot.calls++;
    this.#slots.set(key, slot);
    clearTimeout(slot.idle);
    try {
      return (await waiting(turn)) ?? (await run(slot));
    } finally {
      resolve();
      slot.calls--;
      this.#idle(key, slot);
    }
  }

  /** Ends the shells that have been idle the longest if there is no room for another one of this owner. */
  makeRoom({ principal }: ShellOwner): boolean {
    const ofPrincipal = (slot: Slot): boolean =>
      principal !== undefined && slot.owner.principal === principal;
    return this.#makeRoomAmong(MAX_OF_PRINCIPAL, ofPrincipal) && this.#makeRoomAmong(MAX_SHELLS, () => true);
  }

  /** Ends an idle shell if the counted ones have reached the limit. Returns whether there is room now. */
  #makeRoomAmong(most: number, isCounted: (slot: Slot) => boolean): boolean {
    const open = [...this.#slots.values()].filter((slot) => slot.current !== undefined && isCounted(slot));
    if (open.length < most) return true;
    const idle = open.find(({ calls }) => calls === 0);
    if (idle === undefined) return false;
    this.end(idle);
    return true;
  }

  /** Ends the shell of a place. Resolves when it has ended. */
  async end(place: ShellPlace): Promise<void> {
    const { current } = place;
    place.current = undefined;
    if (current === undefined) return;
    current.shell.kill();
    const ended = current.shell.ended.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
    await ended;
  }

  /** Ends the shells of a session, after the commands that run or wait. */
  endSession(sessionId: string): void {
    for (const [key, slot] of this.#slots) {
      if (slot.owner.sessionId !== sessionId) continue;
      slot.isOver = true;
      this.#idle(key, slot);
    }
  }

  #idle(key: string, slot: Slot): void {
    if (slot.calls > 0) return;
    this.#slots.delete(key);
    const shell = slot.current?.shell;
    if (shell === undefined || shell.isOver || slot.isOver) {
      this.#forget(key, slot);
      return;
    }
    this.#slots.set(key, slot);
    shell.launched.keepAlive(false);
    slot.idle = setTimeout(() => this.#forget(key, slot), this.#idleMs).unref();
  }

  #forget(key: string, slot: Slot): void {
    clearTimeout(slot.idle);
    if (this.#slots.get(key) === slot) this.#slots.delete(key);
    void this.end(slot);
  }

  /** Ends all commands and shells, and waits until they have ended. */
  async close(): Promise<void> {
    const slots = [...this.#slots.values()];
    await Promise.all(slots.map(({ call }) => call?.stop("cancelled", 0)));
    for (const [key, slot] of this.#slots) this.#forget(key, slot);
    await Promise.all(this.#ending);
  }
}

function newSlot(owner: ShellOwner): Slot {
  const nothing = { current: undefined, call: undefined, idle: undefined };
  return { owner, ...nothing, calls: 0, turns: Promise.resolve(), isOver: false };
}
