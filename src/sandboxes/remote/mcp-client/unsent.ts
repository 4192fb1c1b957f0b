/** A message was not sent: the server cannot have received it. */
export class UnsentError extends Error {
  override readonly name: string = "UnsentError";
}

/**
 * A request has no usable tokens, so the server did not carry it out. `message` is for operators: it says
 * what to do, and contains no token or secret.
 */
export class AuthorizationError extends UnsentError {
  override readonly name: string = "AuthorizationError";
}

/**
 * A server over HTTP no longer knows the session of a request (404), so it did not carry it out (MCP
 * 2025-11-25, "Session Management").
 */
export class SessionGoneError extends UnsentError {
  override readonly name: string = "SessionGoneError";
}

/**
 * A request that belongs to a call failed (`cause`), after the server had received an earlier one of the same
 * call.
 */
export class LaterRequestError extends Error {
  override readonly name = "LaterRequestError";

  constructor(cause: unknown) {
    super("a later request of the call failed", { cause });
  }
}

/** Finds the error that made a request fail before it was carried out. `fetch` and the SDK may wrap it. */
export function unsentErrorIn(error: unknown): UnsentError | undefined {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth++) {
    if (each instanceof UnsentError) return each;
  }
  return undefined;
}

/** If a program ended instead of responding, returns an error that says how it ended. */
export function withEnd(error: unknown, notices: ReadonlyMap<string, string>): unknown {
  const end = notices.get("ended");
  if (end === undefined) return error;
  // No call was sent to it.
  return new UnsentError(end, { cause: error });
}
