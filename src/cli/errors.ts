/** The command line is invalid. `message` says what to change. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The assistant's message cannot be read. `message` names the file and the position. */
export class MessageError extends Error {
  override readonly name = "MessageError";
}
