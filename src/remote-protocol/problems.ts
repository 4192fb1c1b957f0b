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

/** What a {@link RequestRefusal} has besides its status, its code and its message. */
export interface RefusalParts {
  /** Default: `none`. */
  readonly effect?: "none" | "unknown";
  /** In addition to those of a JSON body that must not be stored. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the body. */
  readonly members?: object;
}

/**
 * Refuses a request. The message is for the client, and must not contain anything about this machine; `cause` is for the
 * operator.
 */
export class RequestRefusal extends Error {
  override readonly name = "RequestRefusal";
  /** The status of the response. */
  readonly status: number;
  /** A {@link ProblemCode}, or a code of the sessions. */
  readonly code: string;
  /** The headers of the response, without `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #effect: "none" | "unknown";
  readonly #members: object | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    { effect = "none", headers, members }: RefusalParts = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = { ...HEADERS, ...headers };
    this.#effect = effect;
    this.#members = members;
  }

  /** The body of the response, as JSON text. */
  get text(): string {
    return JSON.stringify({
      error: { code: this.code, message: this.message, effect: this.#effect },
      ...this.#members,
    });
  }
}

const HEADERS = Object.freeze({ "content-type": JSON_MEDIA_TYPE, "cache-control": "no-store" });

/**
 * Returns a refusal of the protocol.
 *
 * @param retryAfter Seconds to wait, with `overloaded` and `draining`.
 */
export function remoteProblem(code: ProblemCode, message: string, retryAfter?: number): RequestRefusal {
  const { status, effect } = PROBLEMS[code];
  const headers = {
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    ...(code === "unauthenticated" && { "www-authenticate": "Bearer" }),
  };
  return new RequestRefusal(status, code, message, { effect, headers });
}
