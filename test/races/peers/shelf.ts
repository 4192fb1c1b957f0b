import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonValue } from "../../../src/json/value.ts";
import type { Disk } from "../interleave.ts";
import type { VectorMessage } from "../vector.ts";
import type { PeerAnswer, Stop } from "./peer.ts";

/** What a person saw of a call. */
export interface Shown {
  readonly session: string;
  readonly message: string;
  readonly callId: string;
  readonly arguments: string;
  readonly definition: string;
  /** The id of the pending call. */
  readonly pendingId: string;
}

/** What a person answered, and what became of the answer. */
export interface GivenAnswer {
  readonly shown: Shown;
  readonly isAllowed: boolean;
  readonly arguments: JsonValue | undefined;
  readonly isAlways: boolean;
  /** `given`: the library has it, and the process died before it had stored it. `failed`: with an error. */
  outcome: "given" | "accepted" | "refused" | "failed";
}

/** A conversation as the application has stored it. */
export interface Saved {
  readonly stop: Stop;
  /** With libraries that take answers together: those that have come. */
  readonly answers: readonly PeerAnswer[];
  /** Why it cannot go on. */
  readonly failure?: string;
}

const DISK_FULL = "the disk is full";

/** Everything that outlives a process: what is stored, what the model says, and what people saw and answered. */
export class Shelf implements Disk<Shelf> {
  /** What is written is durable at once. */
  readonly hasPending = false;
  readonly saved: Map<string, Saved> = new Map();
  /** The store of the library. */
  readonly library: Record<string, unknown> = {};
  /** What the model says in each session. */
  readonly scripts: Map<string, VectorMessage[]> = new Map();
  readonly shown: Map<string, Shown> = new Map();
  readonly answers: GivenAnswer[] = [];
  /** The errors of the library with which conversations ended. */
  readonly failures: string[] = [];
  #generation = 0;
  #failsNext = false;

  sync(): void {}

  crash(): void {
    this.#generation++;
  }

  failNext(): void {
    this.#failsNext = true;
  }

  open(): Shelf {
    return this;
  }

  /** Returns a function that tells whether the process that calls this now still lives. */
  process(): () => boolean {
    const generation = this.#generation;
    return () => generation === this.#generation;
  }

  /** @throws {Error} if this write is to fail. */
  beforeWrite(): void {
    if (!this.#failsNext) return;
    this.#failsNext = false;
    throw new Error(DISK_FULL);
  }
}

/** Whether an operation failed because a write did, and not because of the library. */
export function isDiskFull(error: unknown): boolean {
  return String(error).includes(DISK_FULL);
}

/** Never resolves in a process that is gone. */
export async function whileAlive(isAlive: () => boolean): Promise<void> {
  await nextTurn();
  if (!isAlive()) await new Promise<never>(() => {});
}
