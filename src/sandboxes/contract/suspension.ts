import { SandgateError } from "../../base/thrown.ts";
import type { JsonObject } from "../../json/value.ts";

/** Thrown if a suspended call cannot continue in its sandbox. The message is for the model. */
export class SuspensionError extends Error {
  override readonly name = "SuspensionError";
}

/**
 * A waiting task, as bytes from which it can continue in another process. Only its sandbox reads `heap` and
 * `state`.
 */
export interface SuspendedTask {
  /** Identifies the versions of everything that can read the heap. A sandbox of another build refuses the task. */
  readonly build: string;
  /** The SHA-256 of the template from which the heap differs, as 64 hexadecimal digits. */
  readonly template: string;
  /** What differs from the template, compressed. */
  readonly heap: Uint8Array;
  /** Everything else that the sandbox needs, such as the budgets that are left. */
  readonly state: JsonObject;
  /** The calls of other tools that have no reply yet. */
  readonly open: readonly OpenCall[];
  /** How much longer the task may wait for people, in ms. */
  readonly leftWaitMs: number;
}

/** A call that a suspended task has made, and waits for. */
export interface OpenCall {
  /** Counts the calls of the task from 1: the id of the call is that of the task's call, `/` and the number. */
  readonly number: number;
  readonly toolName: string;
}

/** The template of a suspended task. */
export interface SuspendedTemplate {
  /** As in {@link SuspendedTask}. */
  readonly digest: string;
  /** The bytes of which that is the digest. Called only if they are not stored yet. */
  bytes(): Uint8Array;
}

/** Lets a task that waits outlive its process. */
export interface TaskSuspension {
  /** The task from which this one continues; `undefined` if it begins. */
  readonly from: SuspendedTask | undefined;
  /** How long the task has waited since it was suspended, in ms; 0 if it begins. */
  readonly sinceMs: number;
  /** Milliseconds after which a task that waits is suspended, whatever it waits for. */
  readonly afterMs: number;
  /**
   * Writes what the task is now. Resolves when it is durable, and rejects if it could not be written. Without
   * {@link resume} since the last time, what was written then is replaced in one step, so that it can be gone on from at
   * any moment.
   */
  suspend(task: SuspendedTask, template: SuspendedTemplate): Promise<void>;
  /**
   * Declares that the task continues from what {@link suspend} wrote, or from {@link from}. That state is
   * never used again. Resolves when that is durable.
   *
   * @throws as a rejection, if another process was first, or it cannot be written. The task must not
   *   continue.
   */
  resume(): Promise<void>;
  /** Returns the bytes of the template with this digest; `undefined` if they are not stored. */
  template(digest: string): Promise<Uint8Array | undefined>;
}

/**
 * Returns why a suspended call cannot continue, for the model. Errors of a store may name hosts and files.
 */
export function suspensionProblem(thrown: unknown): string {
  const isForModel =
    thrown instanceof SuspensionError ||
    (thrown instanceof SandgateError && thrown.code === "suspension_refused");
  return isForModel ? thrown.message : "the store of programs failed";
}

/** Whether a call cannot continue because another process has it. */
export function isTaken(thrown: unknown): boolean {
  return thrown instanceof SandgateError && "reason" in thrown && thrown.reason === "taken";
}
