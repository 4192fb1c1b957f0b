import { JSON_MEDIA_TYPE } from "./http.ts";

/** Why an executor answers with no execution. */
export type ProblemCode =
  | "bad_request"
  | "unauthenticated"
  | "unknown_key"
  | "not_found"
  | "method_not_allowed"
  | "not_acceptable"
  | "call_id_conflict"
  | "result_forgotten"
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

/** What is true of every problem of a code. */
export interface ProblemKind {
  /** Each code has its own. */
  readonly status: number;
  /** What the request may have left behind: all but two are refused before anything runs. */
  readonly effect: "none" | "unknown";
  /** Whether the same call may be taken elsewhere, or here a little later. */
  readonly retry: boolean;
}

const refusal = (status: number): ProblemKind => ({ status, effect: "none", retry: false });
const notNow = (status: number): ProblemKind => ({ status, effect: "none", retry: true });
const afterwards = (status: number): ProblemKind => ({ status, effect: "unknown", retry: false });

/** Every {@link ProblemCode}. */
export const PROBLEMS: Readonly<Record<ProblemCode, ProblemKind>> = Object.freeze({
  /** The body is no JSON, or not of the shape; or the header `host` is not one host. */
  bad_request: refusal(400),
  /** Neither signature nor bearer token, or one that cannot be read, or a wrong token. */
  unauthenticated: refusal(401),
  /** The signature names a key that the executor does not have. */
  unknown_key: refusal(403),
  not_found: refusal(404),
  method_not_allowed: refusal(405),
  not_acceptable: refusal(406),
  /** The session had a call of this id with another name or other arguments. */
  call_id_conflict: refusal(409),
  /** The call ran before, and its execution is no longer kept: it does not run twice. */
  result_forgotten: afterwards(410),
  /** A body without `content-length`. */
  length_required: refusal(411),
  /** The signature's time is over, too long, or not yet come. */
  expired: refusal(412),
  too_large: refusal(413),
  unsupported_media_type: refusal(415),
  /** `host` is no name of this executor, or there is an `origin`: a browser was led here. */
  misdirected: refusal(421),
  /** Signature or digest do not belong to this request. */
  altered: refusal(422),
  /** The signature's nonce was seen before. */
  replayed: refusal(425),
  /** Too many calls in flight and waiting. `retry-after` says when to come again, in seconds. */
  overloaded: notNow(429),
  /** A defect of the executor. */
  internal_error: afterwards(500),
  /** The executor is about to end. */
  draining: notNow(503),
  /** The caller's time was over before the call's turn came. */
  deadline_passed: refusal(504),
});

/** The body of every answer without an execution. */
export interface ProblemBody {
  readonly error: {
    readonly code: ProblemCode;
    /** One line that says what to do. */
    readonly message: string;
    /** `none`: refused before anything ran. */
    readonly effect: "none" | "unknown";
  };
}

/** A request that gets a problem for an answer. The message is for the caller: nothing of this machine in it. */
export class RemoteProblem extends Error {
  override readonly name = "RemoteProblem";
  readonly code: ProblemCode;
  /** Seconds to wait; with `overloaded` and `draining`. */
  readonly retryAfter: number | undefined;

  constructor(code: ProblemCode, message: string, retryAfter?: number) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }

  get kind(): ProblemKind {
    return PROBLEMS[this.code];
  }

  /** The body that tells of it. */
  toJSON(): ProblemBody {
    const { code, message } = this;
    return { error: { code, message, effect: this.kind.effect } };
  }

  /** Its headers, without the body's length. */
  get headers(): Readonly<Record<string, string>> {
    return {
      "content-type": JSON_MEDIA_TYPE,
      "cache-control": "no-store",
      ...(this.retryAfter !== undefined && { "retry-after": String(this.retryAfter) }),
      ...(this.code === "unauthenticated" && { "www-authenticate": "Bearer" }),
    };
  }
}
