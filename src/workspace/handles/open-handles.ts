import { WorkspaceError } from "../error.ts";

/** Maximum number of files and directories that a call can have open at once. */
export const MAX_OPEN = 128;

/**
 * The open files and directories of a call. Their number is bounded, and all are closed when the call ends.
 */
export class OpenHandles {
  readonly #open = new Set<{ close(): void }>();

  /** @throws {WorkspaceError} `insufficient-memory` if {@link MAX_OPEN} handles are open. */
  checkRoom(): void {
    if (this.#open.size >= MAX_OPEN) throw new WorkspaceError("insufficient-memory");
  }

  add(handle: { close(): void }): void {
    this.#open.add(handle);
  }

  delete(handle: { close(): void }): void {
    this.#open.delete(handle);
  }

  /** Closes all open handles. */
  close(): void {
    for (const handle of this.#open) handle.close();
  }
}
