import { WorkspaceError } from "./error.ts";

/** How many files and directories a call has open at once, at the most. */
export const MAX_OPEN = 128;

/** What a call has open: a bounded number of files and directories, none of which outlives it. */
export class OpenHandles {
  readonly #open = new Set<{ close(): void }>();

  /** @throws {WorkspaceError} `insufficient-memory` when {@link MAX_OPEN} are open. */
  checkRoom(): void {
    if (this.#open.size >= MAX_OPEN) throw new WorkspaceError("insufficient-memory");
  }

  add(handle: { close(): void }): void {
    this.#open.add(handle);
  }

  delete(handle: { close(): void }): void {
    this.#open.delete(handle);
  }

  /** Closes whatever is still open. */
  close(): void {
    for (const handle of this.#open) handle.close();
  }
}
