/** An executor cannot listen. The message says why, and what to do. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}
