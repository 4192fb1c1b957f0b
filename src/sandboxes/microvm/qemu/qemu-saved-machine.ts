import { closeSync, openSync } from "node:fs";
import type { Socket } from "node:net";
import type { SavedMachine } from "../machine.ts";
import { STATE_FD } from "./command-line.ts";
import type { CommandLine } from "./confinement.ts";
import { loadState } from "./monitor.ts";
import { QemuMachine } from "./qemu-machine.ts";

/** What a {@link QemuSavedMachine} consists of. */
export interface SavedMachineParts {
  /** See {@link SavedMachine.bytes}. */
  readonly bytes: number;
  /** The file of the state. */
  readonly file: string;
  /** How QEMU is started. */
  readonly command: CommandLine;
  /** A descriptor of the sealed memory that machines map, which belongs to this; absent if the state has the memory. */
  readonly memory?: number;
  /** Is called when a machine could not be restored, perhaps again. */
  readonly onFailed: () => void;
}

/** A machine that was saved by QEMU. */
export class QemuSavedMachine implements SavedMachine {
  readonly bytes: number;
  readonly #parts: SavedMachineParts;
  #isClosed = false;

  constructor(parts: SavedMachineParts) {
    this.bytes = parts.bytes;
    this.#parts = parts;
  }

  /** @throws {Error} if its file is gone, or this is closed. */
  restore(): QemuMachine {
    const { file, command, memory, onFailed } = this.#parts;
    if (this.#isClosed) throw new Error("the saved virtual machine is closed");
    const state = openSync(file, "r");
    try {
      const machine = new QemuMachine(command, memory === undefined ? [state] : [state, "pipe", memory]);
      if (memory !== undefined) loadState(machine.others[1] as Socket, STATE_FD);
      void machine.ended.then(({ cause }) => {
        if (cause === "failed") onFailed();
      });
      return machine;
    } finally {
      closeSync(state);
    }
  }

  /** Gives the memory up that machines map. Those that run keep it. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#parts.memory !== undefined) closeSync(this.#parts.memory);
  }
}
