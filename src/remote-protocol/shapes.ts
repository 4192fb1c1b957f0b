import {
  anyJson,
  anyObject,
  boolean,
  constant,
  integer,
  list,
  number,
  object,
  oneOf,
  openObject,
  optional,
  problemIn,
  type Shape,
  string,
  type TypeOf,
  typed,
} from "../json/shape.ts";
import type { JsonValue } from "../json/value.ts";
import { CAPABILITY_NAMES, type Capabilities } from "../policy/grant/capabilities.ts";
import { LIMIT_NAMES, type ResourceLimits as LimitValues, MAX_WALL_TIME_MS } from "../policy/grant/limits.ts";
import { MAX_FILE_CHANGES } from "../tool/changes.ts";
import { ISOLATIONS, SANDBOX_MODES } from "../tool/sandbox-mode.ts";
import { AnyProblem } from "./problems.ts";

/**
 * Maximum number of UTF-16 code units of a text that a tool wrote for the model. Executors shorten a longer
 * one.
 */
export const MAX_MODEL_TEXT = 30_000;

const NAME = string({ maxLength: 1_024 });
const FIGURE = number({ minimum: 0 });

/** Limits of a grant. */
export const ResourceLimits: Shape<LimitValues> = typed(
  object(
    Object.fromEntries(
      LIMIT_NAMES.map((name) => [name, optional(integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))]),
    ),
    { description: "Limits in milliseconds, bytes, or as numbers." },
  ),
);

/** Capabilities of a grant. */
export const GrantedCapabilities: Shape<Capabilities> = typed({
  ...anyObject({ description: "Capabilities as in a policy file. Absent ones are not granted." }),
  propertyNames: { enum: [...CAPABILITY_NAMES] },
});

/** The body of `POST /v1/dispatch`. The values of capabilities are checked by `checkCapabilities`. */
export const DispatchRequest = object(
  {
    call: object({
      id: string({
        maxLength: 1_024,
        description:
          "Identifies the call, together with the caller and the session: requests with the same session, id, name and " +
          "arguments are the same call, which runs only once.",
      }),
      name: NAME,
      arguments: anyJson({ description: "The arguments, as a JSON value or as JSON text." }),
    }),
    session: string({ maxLength: 1_024, description: "Identifies the conversation." }),
    grant: object(
      {
        limits: ResourceLimits,
        capabilities: GrantedCapabilities,
      },
      {
        description:
          "The caller's grant: an upper bound for what the executor's own policy grants. If a limit cannot be enforced, " +
          "the call fails with `limit_unenforceable`.",
      },
    ),
    timeoutMs: optional(
      integer({
        minimum: 1,
        maximum: MAX_WALL_TIME_MS,
        description: "Milliseconds that the caller waits for the response. Default: unlimited.",
      }),
    ),
    executor: optional(
      string({
        maxLength: 64,
        description:
          "The only process that may run the call, by the id in the header `sandgate-executor` of its answers. Default: any.",
      }),
    ),
    again: optional(
      object(
        {
          after: optional(
            integer({
              minimum: 0,
              maximum: Number.MAX_SAFE_INTEGER,
              description:
                "The time in an answer of that process that the caller got before it sent the call for the first time.",
            }),
          ),
        },
        {
          description:
            "Set if the call may have been sent before, and its result was lost. The executor then runs it only if it is " +
            "certain that it never ran: if `executor` names this process, and no call that arrived after `after` was " +
            "forgotten. Otherwise, a call that it does not know is refused with `unknown_call`.",
        },
      ),
    ),
  },
  { description: "A call, with an upper bound for its grant." },
);
export type DispatchRequest = TypeOf<typeof DispatchRequest>;

/** The grant of a remote call. */
export type RemoteGrant = DispatchRequest["grant"];

/** The members of a receipt besides what the call used. */
export const RECEIPT_MEMBERS = {
  enforced: ResourceLimits,
  mayStillRun: optional(
    constant(true, { description: "Set if the call was stopped, but its end could not be confirmed." }),
  ),
  ended: optional(
    oneOf(["confirmed", "requested", "unknown"], {
      description: "What is known about the end of a call that was stopped.",
    }),
  ),
  grant: optional(
    object(
      { digest: string({ description: "SHA-256, as hexadecimal digits." }) },
      {
        description: "What the executor granted to the call, by its digest. Absent if nothing ran.",
      },
    ),
  ),
  isolation: optional(
    oneOf(ISOLATIONS, {
      description: "What confined the program of a call in the sandbox `process`. Absent in other sandboxes.",
    }),
  ),
};

/** The members of an execution that do not repeat the call. */
export const RESULT_MEMBERS = {
  success: boolean(),
  output: anyJson({ description: "What the tool returned." }),
  durationMs: number({
    minimum: 0,
    description: "Milliseconds from the call's start on the executor to its result.",
  }),
  sandbox: oneOf([...SANDBOX_MODES, null], {
    description: "The granted sandbox; null if the call failed before.",
  }),
  error: optional(
    object({
      code: string({ description: "One of the closed set of codes of ToolExecution." }),
      message: string({ description: "The text for the model." }),
      effect: oneOf(["none", "committed", "unknown"], {
        description: "none: the call cannot have had an effect. committed: it had its effect nevertheless.",
      }),
      userVisible: optional(boolean({ description: "Whether users may see the message. Default: false." })),
      limit: optional(
        oneOf(LIMIT_NAMES, {
          description: "With `limit_exceeded`: the limit, if the executor reports it.",
        }),
      ),
    }),
  ),
  metadata: optional(anyObject()),
  modelText: optional(
    string({
      maxLength: MAX_MODEL_TEXT,
      description: "How the model reads the output, if the tool says so.",
    }),
  ),
  changes: optional(
    object(
      {
        files: list(
          object({
            path: string({ description: "Relative to the granted directory." }),
            change: oneOf(["created", "modified", "deleted"]),
            bytes: integer({
              minimum: 0,
              description: "The size of the file after the call; 0 if it was deleted.",
            }),
          }),
          { maxItems: MAX_FILE_CHANGES },
        ),
        more: optional(constant(true, { description: "Set if there are more files." })),
        command: optional(string({ description: "The program that ran, with its arguments." })),
      },
      {
        description: "What the call changed in the files that it was granted. Absent if that is not known.",
      },
    ),
  ),
  receipt: object({
    ...RECEIPT_MEMBERS,
    used: openObject(
      { wallTimeMs: FIGURE },
      { description: "Figures by name. Later versions may have more of them." },
    ),
  }),
};

/** An execution without the members that repeat the call. */
const ExecutionResult = object(RESULT_MEMBERS);
export type RemoteResult = TypeOf<typeof ExecutionResult>;

/** The body of a successful response. */
export const Execution = object(
  { callId: string(), toolName: string(), arguments: anyJson(), ...RESULT_MEMBERS },
  { description: "The result of the call. success is true if and only if there is no error." },
);
export type RemoteExecution = TypeOf<typeof Execution>;

/** Why a remote call failed. */
export type RemoteError = NonNullable<RemoteResult["error"]>;

/** The data of the event `output`. */
export const Output = object({ chunk: string() }, { description: "The data of the event output." });

/** The data of the event `log`. */
export const Log = object(
  { level: oneOf(["debug", "info", "warn", "error"]), message: string() },
  { description: "The data of the event log." },
);

/** The body of `GET /v1/tools`. */
export const Tools = object({
  tools: list(
    object({
      name: string(),
      description: string(),
      inputSchema: anyObject(),
      freeform: optional(
        constant(true, { description: "Set for a tool whose arguments are one text, which is not JSON." }),
      ),
    }),
  ),
});
export type RemoteTools = TypeOf<typeof Tools>;

const SHAPES = { DispatchRequest, Execution, ExecutionResult, Output, Log, AnyProblem, Tools };

/** The name of a shape: of a body, of an execution without the members that repeat the call, or of a problem with any code. */
export type ShapeName = keyof typeof SHAPES;

/** Returns the first problem of a value, such as `/call/id must be string`; `undefined` if it has the shape. */
export function shapeProblem(name: ShapeName, value: JsonValue): string | undefined {
  return problemIn(SHAPES[name], value);
}
