import { closeSync } from "node:fs";
import { WorkspaceError } from "../error.ts";
import type { OpenHandles } from "./open-handles.ts";

/**
 * An open descriptor that is closed exactly once, when its last holder releases it: its number may be reused
 * then.
 */
export class SharedFd {
  readonly #handles: OpenHandles;
  readonly #number: number;
  readonly #closeNumber: (number: number) => void;
  #holders = 1;

  /**
   * @param open Opens the descriptor.
   * @param close Closes it. Default: `closeSync`.
   * @throws {WorkspaceError} `insufficient-memory`, without calling `open`, if too many handles are open.
   */
  constructor(handles: OpenHandles, open: () => number, close: (number: number) => void = closeSync) {
    this.#closeNumber = close;
    handles.checkRoom();
    this.#number = open();
    this.#handles = handles;
    handles.add(this);
  }

  /** @throws {WorkspaceError} `bad-descriptor` if the descriptor is closed. */
  get number(): number {
    if (this.#holders === 0) throw new WorkspaceError("bad-descriptor");
    return this.#number;
  }

  /** Adds a holder. */
  share(): void {
    if (this.#holders === 0) throw new WorkspaceError("bad-descriptor");
    this.#holders++;
  }

  /** Releases one holder, and closes the descriptor when the last one is released. */
  release(): void {
    if (this.#holders === 1) this.close();
    else if (this.#holders > 0) this.#holders--;
  }

  /** Closes the descriptor, even if it has holders. */
  close(): void {
    if (this.#holders === 0) return;
    this.#holders = 0;
    this.#handles.delete(this);
    this.#closeNumber(this.#number);
  }
}
