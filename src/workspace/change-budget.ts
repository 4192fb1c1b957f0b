import { WorkspaceError } from "./error.ts";

/** How many files and directories a call creates, at the most: each takes space that no byte of it shows. */
export const MAX_CREATED = 10_000;

/** What a call may still change, and whether it has changed anything. */
export class ChangeBudget {
  readonly #fileBytes: number;
  #writtenBytes = 0;
  #created = 0;
  #hasChanged = false;

  /** @param fileBytes The limit of that name. */
  constructor(fileBytes: number) {
    this.#fileBytes = fileBytes;
  }

  /** Bytes by which files grew or were written over. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Whether anything may have changed: what is about to be tried counts. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /**
   * Something is about to change.
   *
   * @param bytes How many are written, or by how many a file grows. Default: 0.
   * @throws {WorkspaceError} `insufficient-space` when that is more than is left; then nothing is counted.
   */
  change(bytes = 0): void {
    if (bytes > this.#fileBytes - this.#writtenBytes) throw new WorkspaceError("insufficient-space");
    this.#writtenBytes += bytes;
    this.#hasChanged = true;
  }

  /** A file or a directory is about to be created. */
  create(): void {
    if (this.#created >= MAX_CREATED) throw new WorkspaceError("insufficient-space");
    this.#created++;
    this.#hasChanged = true;
  }

  /** Forgets what was used and changed. */
  refill(): void {
    this.#writtenBytes = 0;
    this.#created = 0;
    this.#hasChanged = false;
  }
}
