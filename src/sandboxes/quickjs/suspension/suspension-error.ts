/** Thrown if a suspended call cannot go on in this sandbox. The message is for the model. */
export class SuspensionError extends Error {
  override readonly name = "SuspensionError";
}
