/** A message was not written: the server cannot have got it. */
export class UnsentError extends Error {
  override readonly name = "UnsentError";
}
