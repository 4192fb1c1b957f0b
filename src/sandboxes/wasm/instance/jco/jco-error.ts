/** An error that jco's generated code threw: a trap, or a value that is not of its type. */
export class JcoError extends Error {
  override readonly name = "JcoError";

  constructor({ message, stack }: Error) {
    super(message === "" || message === "Trap" ? UNNAMED : message);
    // The operator reads where.
    this.stack = String(stack);
  }
}

/** jco gives no reason for the traps of its calls from one component to another. */
const UNNAMED =
  "the canonical ABI, as jco implements it, does not allow this call of another component or the host";

const ERRORS: readonly unknown[] = [Error, TypeError, RangeError, ReferenceError, SyntaxError];

/** Returns what jco's code threw as a {@link JcoError}; unchanged what V8 or the host threw. */
export function asJcoError(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !ERRORS.includes(thrown.constructor)) return thrown;
  return thrown.message === STACK_OVERFLOW ? thrown : new JcoError(thrown);
}

const STACK_OVERFLOW = "Maximum call stack size exceeded";
