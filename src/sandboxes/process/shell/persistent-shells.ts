import type { PersistentShell } from "./persistent-shell.ts";
import type { ShellCall } from "./shell-call.ts";

/** The most shells, and of one principal. */
const MAX_SHELLS = 32;
const MAX_OF_PRINCIPAL = 4;

/** Whose shell it is. */
export interface ShellOwner {
  readonly principal: string | undefined;
  readonly sessionId: string;
  readonly toolName: string;
}

/** The place of an owner's shell. Calls of it take turns. */
export interface ShellPlace {
  readonly owner: ShellOwner;
  /** What the shell was started for. */
  kept: { readonly shell: PersistentShell; readonly terms: ShellTerms } | undefined;
  /** The call that has its turn. */
  call: ShellCall | undefined;
}

/** What a shell is started for. It serves no call with others. */
export interface ShellTerms {
  /** Compared by identity: a tool that is registered again is another one. */
  readonly tool: object;
  /** The grant and everything that depends on it. */
  readonly grant: string;
}

interface Slot extends ShellPlace {
  /** Calls that have their turn or wait for it. */
  calls: number;
  /** Resolves when all of them have had it. */
  turns: Promise<void>;
  idle: NodeJS.Timeout | undefined;
  /** Whether its session has ended. */
  isOver: boolean;
}

/** The persistent shells of a sandbox, one for each owner. */
export class PersistentShells {
  /** Those whose last command ended first come first. */
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
   * @param waiting Returns a promise that settles when the call has its turn, or has waited long enough; the latter resolves to
   *   an outcome.
   * @param run Has the place to itself until it settles.
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
      this.#rest(key, slot);
    }
  }

  /** Ends shells that have waited longest, if there is no room for another one of this owner. */
  makeRoom({ principal }: ShellOwner): boolean {
    const ofPrincipal = (slot: Slot): boolean =>
      principal !== undefined && slot.owner.principal === principal;
    return this.#leave(MAX_OF_PRINCIPAL, ofPrincipal) && this.#leave(MAX_SHELLS, () => true);
  }

  /** Returns whether there is room among some of the shells. */
  #leave(most: number, isCounted: (slot: Slot) => boolean): boolean {
    const kept = [...this.#slots.values()].filter((slot) => slot.kept !== undefined && isCounted(slot));
    if (kept.length < most) return true;
    const resting = kept.find(({ calls }) => calls === 0);
    if (resting === undefined) return false;
    this.end(resting);
    return true;
  }

  /** Ends the shell of a place. Resolves when it has ended. */
  async end(place: ShellPlace): Promise<void> {
    const { kept } = place;
    place.kept = undefined;
    if (kept === undefined) return;
    kept.shell.kill();
    const ended = kept.shell.ended.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
    await ended;
  }

  /** Ends the shells of a session, after the commands that run or wait. */
  endSession(sessionId: string): void {
    for (const [key, slot] of this.#slots) {
      if (slot.owner.sessionId !== sessionId) continue;
      slot.isOver = true;
      this.#rest(key, slot);
    }
  }

  #rest(key: string, slot: Slot): void {
    if (slot.calls > 0) return;
    this.#slots.delete(key);
    const shell = slot.kept?.shell;
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
  const nothing = { kept: undefined, call: undefined, idle: undefined };
  return { owner, ...nothing, calls: 0, turns: Promise.resolve(), isOver: false };
}
