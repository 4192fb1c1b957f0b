import type { CallProgress, ProgressPhase } from "../../../engine/reporting/progress.ts";

/** A part of the time that a call took, as far as its events tell. */
export interface Phase {
  readonly name: "gate" | "parse" | "decide" | "wait" | "hook" | "record" | "sandbox" | "end";
  /** Milliseconds after the start of the call. */
  readonly at: number;
  /** Milliseconds that it took; absent while it lasts. */
  readonly ms?: number;
}

/** The most phases of one call: a tool can ask many questions. */
const MAX_PHASES = 50;

/** The phases that have no events. */
const OWN = ["gate", "parse", "hook", "record"] as const satisfies readonly ProgressPhase[];

function isOwn(phase: ProgressPhase): phase is (typeof OWN)[number] {
  return (OWN as readonly string[]).includes(phase);
}

/** The phases of one call. Times are milliseconds since the epoch. */
export class Phases {
  readonly startedAt: number;
  /** How many phases of the progress were looked at. */
  #followed = 0;
  #phases: { name: Phase["name"]; from: number; ms: number | undefined }[] = [];

  constructor(startedAt: number) {
    this.startedAt = startedAt;
  }

  get list(): readonly Phase[] {
    return this.#phases.map(({ name, from, ms }) => ({
      name,
      at: rounded(Math.max(from - this.startedAt, 0)),
      ...(ms !== undefined && { ms: rounded(ms) }),
    }));
  }

  add(name: Phase["name"], from: number, ms: number): void {
    if (this.#phases.length < MAX_PHASES) this.#phases.push({ name, from, ms });
  }

  begin(name: Phase["name"], from: number): void {
    if (this.#phases.length < MAX_PHASES) this.#phases.push({ name, from, ms: undefined });
  }

  /**
   * Adds the phases that no event tells of, as far as the call has come. The others have events, which are more exact.
   *
   * @param at Until when the last one lasts.
   * @param hasEnded Whether that one has ended, too.
   */
  follow({ begun }: Pick<CallProgress, "begun">, at: number, hasEnded: boolean): void {
    const until = hasEnded ? begun.length : begun.length - 1;
    for (; this.#followed < until; this.#followed++) {
      const [one, next] = [begun[this.#followed], begun[this.#followed + 1]];
      if (one === undefined || !isOwn(one.phase)) continue;
      this.add(one.phase, one.at, Math.max((next?.at ?? at) - one.at, 0));
    }
  }

  /** Ends the latest phase of this name. */
  end(name: Phase["name"], at: number): void {
    const phase = this.#phases.findLast((each) => each.name === name && each.ms === undefined);
    if (phase !== undefined) phase.ms = Math.max(at - phase.from, 0);
  }

  /** Adds a phase that began when the one before it ended. */
  fill(name: Phase["name"], at: number): void {
    const before = this.#phases.at(-1);
    const from = before === undefined ? this.startedAt : before.from + (before.ms ?? 0);
    this.add(name, from, Math.max(at - from, 0));
  }

  /** Ends every phase: the call has ended. */
  close(at: number): void {
    for (const phase of this.#phases) phase.ms ??= Math.max(at - phase.from, 0);
    this.add("end", at, 0);
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
