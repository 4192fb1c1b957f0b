import { JSON_MEDIA_TYPE } from "./http.ts";

/** Why an executor responds without an execution. */
export type ProblemCode =
  | "bad_request"
  | "unauthenticated"
  | "unknown_key"
  | "not_found"
  | "method_not_allowed"
  | "not_acceptable"
  | "call_id_conflict"
  | "result_forgotten"
  | "other_executor"
  | "unknown_call"
  | "length_required"
  | "expired"
  | "too_large"
  | "unsupported_media_type"
  | "misdirected"
  | "altered"
  | "replayed"
  | "overloaded"
  | "internal_error"
  | "draining"
  | "deadline_passed";

/** The properties of all problems with one code. */
export interface ProblemKind {
  /** The status of the response, which is different for each code. */
  readonly status: number;
  /** The effect that the request may have had: `none` if it is refused before anything runs. */
  readonly effect: "none" | "unknown";
  /** Whether the client may retry the call, here after a delay or with another executor. */
  readonly retry: boolean;
}

const refusal = (status: number): ProblemKind => ({ status, effect: "none", retry: false });
const notNow = (status: number): ProblemKind => ({ status, effect: "none", retry: true });
const afterwards = (status: number): ProblemKind => ({ status, effect: "unknown", retry: false });

/** Every {@link ProblemCode}. */
export const PROBLEMS: Readonly<Record<ProblemCode, ProblemKind>> = Object.freeze({
  /**
   * The body is not valid JSON or does not match the schema, or the `host` header is missing or not a single
   * host.
   */
  bad_request: refusal(400),
  /** The signature or bearer token is missing or malformed, or the token is wrong. */
  unauthenticated: refusal(401),
  /** The executor does not have the key of the signature. */
  unknown_key: refusal(403),
  not_found: refusal(404),
  method_not_allowed: refusal(405),
  not_acceptable: refusal(406),
  /** The session already had a call with this id, but with another name or other arguments. */
  call_id_conflict: refusal(409),
  /** The call already ran, and its execution is no longer retained. It does not run again. */
  result_forgotten: afterwards(410),
  /** The request is for another process than this one. The call did not run here. */
  other_executor: notNow(417),
  /** The call was sent before, and is not known here. Whether it ran, here or elsewhere, is unknown. */
  unknown_call: afterwards(424),
  /** The request has a body but no `content-length`. */
  length_required: refusal(411),
  /**
   * The signature has expired, is valid for too long, or was created in the future or before the executor
   * started.
   */
  expired: refusal(412),
  too_large: refusal(413),
  unsupported_media_type: refusal(415),
  /**
   * `host` is not a name of this executor, or the request has an `origin`, which means that a web page sent
   * it.
   */
  misdirected: refusal(421),
  /** The signature or the digest does not match the request. */
  altered: refusal(422),
  /** The signature's nonce was already used. */
  replayed: refusal(425),
  /** Too many calls are running and waiting. `retry-after` has the seconds to wait. */
  overloaded: notNow(429),
  /** The executor failed unexpectedly. */
  internal_error: afterwards(500),
  /** The executor is shutting down. */
  draining: notNow(503),
  /** The call waited as long as it may, or as its caller does, and did not start. */
  deadline_passed: refusal(504),
});

/** Whether a code, which is not trusted, is one of the protocol. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}

/** The body of every response without an execution. */
export interface ProblemBody {
  readonly error: {
    /** A {@link ProblemCode}, or one of a server that has more than an executor. */
    readonly code: string;
    /** One line for the caller. */
    readonly message: string;
    /** The effect that the call may have had: `none` if it was refused before anything ran. */
    readonly effect: "none" | "unknown";
  };
}

/**
 * A problem to respond with. The message is for the caller, and must not contain anything about this machine.
 */
export class RemoteProblem extends Error {
  override readonly name = "RemoteProblem";
  readonly code: ProblemCode;
  /** Seconds to wait, with `overloaded` and `draining`. */
  readonly retryAfter: number | undefined;

  constructor(code: ProblemCode, message: string, retryAfter?: number) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }

  get kind(): ProblemKind {
    return PROBLEMS[this.code];
  }

  /** Returns the body of the response. */
  toJSON(): ProblemBody {
    const { code, message } = this;
    return { error: { code, message, effect: this.kind.effect } };
  }

  /** The headers of the response, without `content-length`. */
  get headers(): Readonly<Record<string, string>> {
    return {
      "content-type": JSON_MEDIA_TYPE,
      "cache-control": "no-store",
      ...(this.retryAfter !== undefined && { "retry-after": String(this.retryAfter) }),
      ...(this.code === "unauthenticated" && { "www-authenticate": "Bearer" }),
    };
  }
}
