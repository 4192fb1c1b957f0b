/** A call, as ledgers know it. It counts from the moment in which the policy is asked about it. */
export interface Entry {
  readonly turnId: string;
  readonly tool: string;
  /** Its arguments that are numbers, by their pointers. Replaced if a person changes the arguments. */
  numbers: ReadonlyMap<string, number>;
  /** Whether a person confirmed the call. */
  isApproved: boolean;
  /** Whether it ended with success. */
  isDone: boolean;
  /** In milliseconds since the epoch; `undefined` while it is under way. */
  endedAt: number | undefined;
}

/** An entry, with what it takes to keep it in a store. */
export interface KeptEntry extends Entry {
  readonly id: string;
  readonly sessionId: string;
  /** The id of the principal; `undefined` if the session has none. */
  readonly principal: string | undefined;
  /** Whether the store has it. */
  isKept: boolean;
}
