/** What the crashing process does. */
export interface CrashOrder {
  readonly directory: string;
  /** The key that signs the journal's checkpoints. */
  readonly key: string;
  readonly calls: number;
  readonly inFlight: number;
  /** The step at which it kills itself, from 1. 0: never. */
  readonly killAt: number;
}
