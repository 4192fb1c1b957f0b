/** Something about the journal itself that its operator has to know. */
export interface JournalNotice {
  /**
   * - `torn`: a half-written line at the end of the journal was moved to a file of its own
   * - `interrupted`: calls were running when the journal was last written to
   * - `unhealthy`: the journal cannot write, so no call runs
   * - `healthy`: the journal can write again
   * - `changed`: another process removed or changed a file that was written before
   * - `clock`: the clock was set back, so that records have the time of an earlier one; or it has reached that time again
   * - `checkpoint`: a checkpoint could not be signed or stored
   * - `anchor`: an anchor did not take a checkpoint
   * - `peer`: the checkpoint of another machine cannot be read or trusted, or shows that its journal was cut
   */
  readonly kind:
    | "torn"
    | "interrupted"
    | "unhealthy"
    | "healthy"
    | "changed"
    | "clock"
    | "checkpoint"
    | "anchor"
    | "peer";
  /** One line. */
  readonly message: string;
}
