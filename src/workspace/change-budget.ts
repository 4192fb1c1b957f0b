import { WorkspaceError } from "./error.ts";
import { TouchedEntries } from "./touched-entries.ts";

/**
 * Maximum number of files and directories that a call can create, since even empty ones take up disk space.
 */
export const MAX_CREATED = 10_000;

/** Counts the changes of a call against its limits, and keeps which entries they were made to. */
export class ChangeBudget {
  readonly touched: TouchedEntries = new TouchedEntries();
  readonly #fileBytes: number;
  #writtenBytes = 0;
  #created = 0;
  #hasChanged = false;

  /** @param fileBytes The limit `fileBytes` of the call. */
  constructor(fileBytes: number) {
    this.#fileBytes = fileBytes;
  }

  /** Bytes that were written, including zeros by which files grew. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Whether anything may have changed. Attempted changes count, even if they fail. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /**
   * Counts a change that is about to be made.
   *
   * @param bytes Bytes to write, or by which a file grows. Default: 0.
   * @throws {WorkspaceError} `insufficient-space` if that exceeds the limit. Nothing is counted then.
   */
  change(bytes = 0): void {
    if (bytes > this.#fileBytes - this.#writtenBytes) throw new WorkspaceError("insufficient-space");
    this.#writtenBytes += bytes;
    this.#hasChanged = true;
  }

  /** Counts a file or directory that is about to be created. */
  create(): void {
    if (this.#created >= MAX_CREATED) throw new WorkspaceError("insufficient-space");
    this.#created++;
    this.#hasChanged = true;
  }

  /** Resets all counts, and forgets the entries. */
  refill(): void {
    this.#writtenBytes = 0;
    this.#created = 0;
    this.#hasChanged = false;
    this.touched.clear();
  }
}
