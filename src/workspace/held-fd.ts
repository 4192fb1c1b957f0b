import { closeSync } from "node:fs";
import { WorkspaceError } from "./error.ts";
import type { OpenHandles } from "./open-handles.ts";

/** An open descriptor that is closed once, when its last holder lets go: its number may be another's then. */
export class HeldFd {
  readonly #handles: OpenHandles;
  readonly #number: number;
  #holders = 1;

  /**
   * @param open Opens it.
   * @throws {WorkspaceError} `insufficient-memory` when too much is open; then `open` is not called.
   */
  constructor(handles: OpenHandles, open: () => number) {
    handles.checkRoom();
    this.#number = open();
    this.#handles = handles;
    handles.add(this);
  }

  /** @throws {WorkspaceError} `bad-descriptor` when it is closed. */
  get number(): number {
    if (this.#holders === 0) throw new WorkspaceError("bad-descriptor");
    return this.#number;
  }

  /** Gives it one more holder. */
  share(): void {
    if (this.#holders === 0) throw new WorkspaceError("bad-descriptor");
    this.#holders++;
  }

  /** One holder lets go. */
  release(): void {
    if (this.#holders === 1) this.close();
    else if (this.#holders > 0) this.#holders--;
  }

  /** Closes it under all its holders. */
  close(): void {
    if (this.#holders === 0) return;
    this.#holders = 0;
    this.#handles.delete(this);
    closeSync(this.#number);
  }
}
