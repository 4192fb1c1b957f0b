/** What a guest can ask of its host while it runs, and what its host decides about it. */
export interface GuestHost {
  /** Asked about every 10,000 steps of the guest; true ends it. */
  isOver(): boolean;
  /** The guest's clock: milliseconds since the epoch. */
  now(): number;
  /** Whatever the guest sends through its only way out, and what it is told at once, if anything. Must not throw. */
  receive(text: string): string | undefined;
  /** The name of a module that another one imports. Must not throw: the engine would not hear of it. */
  resolveModule(importer: string, specifier: string): string;
  /** The source of a module; throws when there is none. */
  loadModule(name: string): string;
}

/** The host of an instance in which nothing runs yet. */
export const NOBODY: GuestHost = {
  isOver: () => false,
  now: () => Date.now(),
  receive: () => undefined,
  resolveModule: (_importer, specifier) => specifier,
  loadModule: () => {
    throw new Error("nothing can be imported");
  },
};
