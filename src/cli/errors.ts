import type { ShownText } from "../rendering/shown.ts";

/** A mistake of the user, with a text that may be shown. */
abstract class UserError extends Error {
  readonly shown: ShownText;

  constructor(shown: ShownText) {
    super(shown.text);
    this.shown = shown;
  }
}

/** A word that may be misspelt, and the words that it can stand for. */
interface Misspelt {
  readonly word: string;
  readonly known: readonly string[];
}

/** The command line is invalid. `shown` says what to change. */
export class UsageError extends UserError {
  override readonly name = "UsageError";
  /** What may be misspelt. Default: nothing. */
  readonly misspelt: Misspelt | undefined;

  constructor(shown: ShownText, misspelt?: Misspelt) {
    super(shown);
    this.misspelt = misspelt;
  }
}

/** The assistant's message cannot be read. `shown` names the file and the position. */
export class MessageError extends UserError {
  override readonly name = "MessageError";
}
