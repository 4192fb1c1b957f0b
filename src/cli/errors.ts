import type { ShownText } from "../rendering/shown-text.ts";

/** A mistake of the user, with a text that may be shown. */
abstract class UserError extends Error {
  readonly shown: ShownText;

  constructor(shown: ShownText) {
    super(shown.text);
    this.shown = shown;
  }
}

/** The command line is invalid. `shown` says what to change. */
export class UsageError extends UserError {
  override readonly name = "UsageError";
}

/** The assistant's message cannot be read. `shown` names the file and the position. */
export class MessageError extends UserError {
  override readonly name = "MessageError";
}
