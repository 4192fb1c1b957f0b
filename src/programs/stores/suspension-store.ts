import type { MaybePromise } from "../../base/promises.ts";
import { SandgateError } from "../../base/thrown.ts";
import type { CallPlace, ClaimedCall } from "../../engine/call/suspension.ts";
import { type ClaimState, claimState } from "../../record/identity.ts";
import type { OpenCall } from "../../sandboxes/contract/suspension.ts";

/**
 * Stores suspended programs. A method that writes is atomic, and has written durably when it returns, or when
 * its promise resolves. If it throws or rejects, nothing was written. Everything that `sealed` has is
 * encrypted.
 */
export interface SuspensionStore {
  /**
   * Writes the state of a waiting program.
   *
   * @param calls Calls that its tool has made. Their states replace the stored ones.
   * @returns `false`, and writes nothing, if the program is known with another revision before this one.
   */
  put(program: StoredProgram, calls: readonly StoredCall[]): MaybePromise<boolean>;
  /**
   * Replaces the waiting previous revision of a program atomically: one revision is waiting at any time, and
   * the previous one can no longer be used.
   *
   * @returns `false`, and writes nothing, if the previous revision does not exist, or does not wait.
   */
  replace(program: StoredProgram): MaybePromise<boolean>;
  /**
   * Takes a waiting program, so that it continues in the caller's process only. It waits again with the next
   * {@link put}.
   *
   * @returns `false` if it does not wait, or has another revision.
   */
  take(id: string, revision: number): MaybePromise<boolean>;
  /** Returns a program; `undefined` if it is unknown. */
  get(id: string): MaybePromise<StoredProgram | undefined>;
  /** Returns all programs, the oldest first. */
  list(): MaybePromise<readonly ProgramHeader[]>;
  /** Removes a program with its calls, and the programs of its calls. Returns `false` if it is unknown. */
  remove(id: string): MaybePromise<boolean>;
  /**
   * Takes a call of a program's tool in order to run it.
   *
   * @param revision That of the program, as the caller knows it.
   * @returns `fresh` to one caller only; `conflict` if the number has another digest, or the program is unknown or has
   *   another revision.
   */
  claim(id: string, revision: number, call: ClaimedCall): MaybePromise<ClaimState>;
  /**
   * Ends a call of a program's tool. One that has ended stays as it is. Does nothing if the program is unknown or has another
   * revision.
   */
  end(id: string, revision: number, call: Required<StoredCall>): MaybePromise<void>;
  /** Returns the calls of a program's tool that have begun, in order. */
  calls(id: string): MaybePromise<readonly StoredCall[]>;
  /** Whether there is a template with this digest. */
  hasTemplate(digest: string): MaybePromise<boolean>;
  /** Adds a template, unless it is there. */
  addTemplate(digest: string, bytes: Uint8Array): MaybePromise<void>;
  /** Returns a template; `undefined` if it is unknown. */
  template(digest: string): MaybePromise<Uint8Array | undefined>;
  /** Removes the templates that no program names. Returns how many. */
  removeTemplates(): MaybePromise<number>;
  /** Releases the store. No other method is called later. */
  close(): MaybePromise<void>;
}

/** Returns what the claim of a program's call answers; `undefined` stands for a call that was not claimed before. */
export function claimOf(
  known: { readonly digest: string; readonly sealed?: unknown } | undefined,
  digest: string,
): ClaimState {
  return claimState(known, { digest }, { isClaimed: true, isEnded: known?.sealed !== undefined });
}

/** The unencrypted part of a suspended program. Sealed programs are bound to it. */
export interface ProgramHeader extends CallPlace {
  /** Identifies the program: 32 hexadecimal digits, which follow from where its call was made. */
  readonly id: string;
  /** Counts how often it was suspended, from 1. */
  readonly revision: number;
  /** Whether it waits, or a process has taken it. */
  readonly state: "waiting" | "taken";
  /** The id of the principal; absent if it is not known. */
  readonly principal?: string;
  readonly toolName: string;
  /** The SHA-256 of the canonical JSON of the tool's name and the arguments. */
  readonly digest: string;
  /** Identifies the version of the sandbox. */
  readonly build: string;
  /** The digest of the template. */
  readonly template: string;
  /** The digest of the definitions of its tool and of the tools that it may call. */
  readonly definitions: string;
  /** The revision of the policy; absent if the policy has none. */
  readonly policyRevision?: string;
  /** In milliseconds since the epoch. */
  readonly suspendedAt: number;
  /** Until when it may wait for people, in milliseconds since the epoch. */
  readonly waitUntil: number;
  /** The calls that it waits for. */
  readonly open: readonly OpenCall[];
  /** The id of the key under which it is sealed. */
  readonly keyId: string;
}

/** A suspended program. */
export interface StoredProgram extends ProgramHeader {
  readonly sealed: Uint8Array;
}

/** How far a call of a program's tool has come. */
export interface StoredCall {
  readonly number: number;
  /** The SHA-256 of the canonical JSON of the tool's name and the arguments. */
  readonly digest: string;
  /** Its result, sealed; `undefined` if it has begun, and not ended. */
  readonly sealed?: Uint8Array | undefined;
}

/** Thrown if a store of suspended programs cannot be opened, read or written. `message` says why. */
export class SuspensionStoreError extends SandgateError {
  override readonly name = "SuspensionStoreError";
  override readonly code = "suspension_store_failed";
}

/** Maximum number of bytes of a template. */
export const MAX_TEMPLATE_BYTES: number = 256 * 1_024 * 1_024;

const TEXTS = [
  "id",
  "sessionId",
  "turnId",
  "messageId",
  "callId",
  "toolName",
  "digest",
  "build",
  "template",
  "definitions",
  "keyId",
] as const satisfies readonly (keyof ProgramHeader)[];

const NUMBERS = ["revision", "suspendedAt", "waitUntil"] as const satisfies readonly (keyof ProgramHeader)[];

/** Whether something that was stored as a header has the members of one: it could have been changed. */
export function isHeader(read: ProgramHeader): boolean {
  return (
    TEXTS.every((name) => typeof read[name] === "string") &&
    NUMBERS.every((name) => Number.isFinite(read[name]) && Math.abs(read[name]) <= MAX_TIME) &&
    [read.principal, read.policyRevision].every((text) => text === undefined || typeof text === "string") &&
    Array.isArray(read.open) &&
    read.open.every((call) => Number.isSafeInteger(call?.number) && typeof call?.toolName === "string")
  );
}

/** The latest time that a date can have, in milliseconds since the epoch. */
const MAX_TIME = 8_640_000_000_000_000;
