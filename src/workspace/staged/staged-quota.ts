import { WorkspaceError } from "../error.ts";

/** An amount of staged changes. */
export interface StagedAmount {
  readonly bytes: number;
  readonly entries: number;
}

/** How much the staged changes of a session may take up, and those of all sessions together. */
export const STAGED_LIMITS: { readonly session: StagedAmount; readonly all: StagedAmount } = Object.freeze({
  session: { bytes: 256 * 1_024 * 1_024, entries: 10_000 },
  all: { bytes: 1_024 * 1_024 * 1_024, entries: 100_000 },
});

/** Counts staged changes against a limit, and against one that several sessions share. */
export class StagedQuota {
  readonly #limits: StagedAmount;
  readonly #all: StagedQuota | undefined;
  #bytes = 0;
  #entries = 0;

  /** @param all The quota that this one is part of. Default: none. */
  constructor(limits: StagedAmount, all?: StagedQuota) {
    this.#limits = limits;
    this.#all = all;
  }

  get entries(): number {
    return this.#entries;
  }

  /** @throws {WorkspaceError} `insufficient-space` if that exceeds a limit. Nothing is counted then. */
  acquire(bytes: number, entries: number): void {
    if (this.#bytes + bytes > this.#limits.bytes || this.#entries + entries > this.#limits.entries) {
      throw new WorkspaceError("insufficient-space", TOO_MUCH);
    }
    this.#all?.acquire(bytes, entries);
    this.#bytes += bytes;
    this.#entries += entries;
  }

  release(bytes: number, entries: number): void {
    this.#all?.release(bytes, entries);
    this.#bytes -= bytes;
    this.#entries -= entries;
  }

  /** Counts existing changes, regardless of the limits. */
  add({ bytes, entries }: StagedAmount): void {
    this.release(-bytes, -entries);
  }

  clear(): void {
    this.release(this.#bytes, this.#entries);
  }
}

const TOO_MUCH = "too many changes wait to be accepted: ask the user to accept or reject some first";
