import { SandgateError } from "../../base/thrown.ts";

/** Thrown if Restate cannot be reached, refuses a request, or has other code registered under the name of a Sandgate service. */
export class RestateError extends SandgateError {
  override readonly name = "RestateError";
  override readonly code = "restate_failed";
  /** Whether the request may have been accepted anyway, so that only the same idempotency key may be tried again. */
  readonly mayHaveBegun: boolean;

  constructor(
    message: string,
    { mayHaveBegun = false, cause }: { mayHaveBegun?: boolean; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.mayHaveBegun = mayHaveBegun;
  }
}

/** Status of the error of a request that is longer than Restate takes. */
export const TOO_LONG = 413;

/** Thrown if a handler ended with an error that is not tried again. */
export class RestateHandlerError extends RestateError {
  /** The status with which the handler ended. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}
