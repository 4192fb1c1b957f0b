import { object, oneOf, type Shape, string, type TypeOf } from "../json/shape.ts";
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
  /** When there is such a problem, as `docs/openapi.yaml` has it. */
  readonly description: string;
  /** The effect that the request may have had: `none` if it is refused before anything runs. */
  readonly effect: "none" | "unknown";
  /** Whether the client may retry the call, here after a delay or with another executor. */
  readonly retry: boolean;
}

const refusal = (status: number, description: string): ProblemKind => ({
  status,
  description,
  effect: "none",
  retry: false,
});
const notNow = (status: number, description: string): ProblemKind => ({
  ...refusal(status, description),
  retry: true,
});
const afterwards = (status: number, description: string): ProblemKind => ({
  ...refusal(status, description),
  effect: "unknown",
});

/** Every {@link ProblemCode}. */
export const PROBLEMS: Readonly<Record<ProblemCode, ProblemKind>> = Object.freeze({
  bad_request: refusal(
    400,
    "The body is not valid JSON or does not match the schema, or the `host` header is missing or not a single host.",
  ),
  unauthenticated: refusal(
    401,
    "The signature or bearer token is missing or malformed, or the token is wrong.",
  ),
  unknown_key: refusal(403, "The executor does not have the key of the signature."),
  not_found: refusal(404, "The path does not exist."),
  method_not_allowed: refusal(405, "The path has other methods."),
  not_acceptable: refusal(406, "The executor does not support the media types in accept."),
  call_id_conflict: refusal(
    409,
    "The session already had a call with this id, but with another name or other arguments.",
  ),
  result_forgotten: afterwards(
    410,
    "The call already ran, and its execution is no longer retained. It does not run again.",
  ),
  other_executor: notNow(417, "The request is for another process than this one. The call did not run here."),
  unknown_call: afterwards(
    424,
    "The call was sent before, and is not known here. Whether it ran, here or elsewhere, is unknown.",
  ),
  length_required: refusal(411, "The request has a body but no content-length."),
  expired: refusal(
    412,
    "The signature has expired, is valid for too long, or was created in the future or before the executor started.",
  ),
  too_large: refusal(413, "The body is larger than the executor accepts."),
  unsupported_media_type: refusal(415, "The body has another media type, or is encoded."),
  misdirected: refusal(
    421,
    "The `host` header is not a name of the executor, or the request has an `origin`, which means that a web page sent it.",
  ),
  altered: refusal(422, "The signature or the digest does not match the request."),
  replayed: refusal(425, "The signature's nonce was already used."),
  overloaded: notNow(429, "There are too many calls, or too many signatures."),
  internal_error: afterwards(500, "The executor failed unexpectedly. The call may have run."),
  draining: notNow(503, "The executor is shutting down."),
  deadline_passed: refusal(
    504,
    "The call waited as long as it may, or as its caller does, and did not start.",
  ),
});

/** Whether a code, which is not trusted, is one of the protocol. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}

/** What a problem says: a code, a line for the caller, and the effect that the call may have had. */
export const PROBLEM_MEMBERS = {
  message: string({ description: "One line for the caller." }),
  effect: oneOf(["none", "unknown"], { description: "none: the request was refused before anything ran." }),
};

/** The body of every response without an execution. */
export const Problem = problem(oneOf(Object.keys(PROBLEMS)));

/** The same with any code: servers that have more than an executor have reasons of their own. */
export const AnyProblem = problem(string());

/** The body of every response without an execution. */
export type ProblemBody = TypeOf<typeof AnyProblem>;

function problem(code: Shape<string>) {
  return object(
    { error: object({ code, ...PROBLEM_MEMBERS }) },
    { description: "Why there is no execution. Each code has a different status." },
  );
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
