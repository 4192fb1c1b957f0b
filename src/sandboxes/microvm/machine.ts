import type { Duplex } from "node:stream";

/** How a machine ended. */
export interface MachineEnd {
  /**
   * - `stopped`: the machine switched itself off, or its kernel gave up
   * - `failed`: it could not be run
   * - `killed`: it was killed, by this process or another
   */
  readonly cause: "stopped" | "failed" | "killed";
  /** The standard error of the program that runs the machine, for operators. */
  readonly errors: string;
}

/** A running machine: its ports, and its end. Everything that comes from a port is untrusted. */
export interface Machine {
  /** Gets the message with which a call begins, and sends lines about the command. */
  readonly control: Duplex;
  /** The command's standard input. Ending the stream closes it. */
  readonly input: Duplex;
  /** The command's standard output. */
  readonly output: Duplex;
  /** The command's standard error. */
  readonly errors: Duplex;
  /** Settles when the machine is gone, and everything that it wrote has been read. Never rejects. */
  readonly ended: Promise<MachineEnd>;
  /** Ends the machine immediately. */
  kill(): void;
  /** Sets whether the machine keeps this process running. */
  keepAlive(keeps: boolean): void;
}

/** A booted machine that was saved. */
export interface SavedMachine {
  /** Bytes of memory that a machine restored from it takes of this machine, at most. */
  readonly bytes: number;
  /** Starts a machine from the saved state. If it fails, the state is not used again. */
  restore(): Machine;
}

/** Runs machines. QEMU is the only backend so far. */
export interface MachineBackend {
  /**
   * Boots and saves a machine, unless that has been done.
   *
   * @param image The directory of its files.
   * @param toolBytes The part of the machine's memory that the tool may use.
   * @throws {Error} if it cannot be booted. The message is for operators.
   */
  save(image: string, toolBytes: number): Promise<SavedMachine>;
  /** Ends machines that are booting. Idempotent. */
  close(): Promise<void>;
}
