/** The functions that the engine calls while a guest runs. */
export interface GuestHost {
  /** Called about every 10,000 steps of the guest; `true` interrupts it. */
  isOver(): boolean;
  /** The guest's clock: milliseconds since the epoch. */
  now(): number;
  /**
   * Receives a message of the guest, and returns the reply, if there is one. Must not throw.
   *
   * @param bytes The bytes beside the text; absent if there are none.
   */
  receive(text: string, bytes?: Uint8Array): string | Uint8Array | undefined;
  /** Returns the name of a module that another one imports. Must not throw: the engine would ignore the error. */
  resolveModule(importer: string, specifier: string): string;
  /** Returns the source of a module; throws if it does not exist. */
  loadModule(name: string): string;
}

/** The host of an instance that has no guest yet. */
export const NO_HOST: GuestHost = {
  isOver: () => false,
  now: () => Date.now(),
  receive: () => undefined,
  resolveModule: (_importer, specifier) => specifier,
  loadModule: () => {
    throw new Error("imports are not available before a tool is loaded");
  },
};
