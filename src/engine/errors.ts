import { beginning, UNPRINTABLE } from "../base/text.ts";
import { systemErrorText } from "../base/thrown.ts";
import { formatDuration, formatMinutes } from "../base/units.ts";
import type { CapabilityName } from "../policy/grant/capabilities.ts";
import { formatLimit, type LimitName, type ResourceLimits } from "../policy/grant/limits.ts";
import type { CallEffect } from "../sandboxes/contract/outcome.ts";
import type { ArgumentProblem } from "../schema/arguments.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";

/** The closed set of codes of failed calls. */
export type ErrorCode =
  | "not_found"
  | "validation_error"
  | "permission_denied"
  | "user_denied"
  | "confirmation_timeout"
  | "timeout"
  | "cancelled"
  | "execution_error"
  | "sandbox_unavailable"
  | "limit_exceeded"
  | "limit_unenforceable";

// A record, so the compiler reports a code that is missing from the list.
const CODES: Record<ErrorCode, true> = {
  not_found: true,
  validation_error: true,
  permission_denied: true,
  user_denied: true,
  confirmation_timeout: true,
  timeout: true,
  cancelled: true,
  execution_error: true,
  sandbox_unavailable: true,
  limit_exceeded: true,
  limit_unenforceable: true,
};

/** Every {@link ErrorCode}. */
export const ERROR_CODES: readonly ErrorCode[] = Object.freeze(Object.keys(CODES) as ErrorCode[]);

/** Why a call failed: a code for programs, a text for the model, and the effect that the call may have had. */
export interface ToolError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly effect: CallEffect;
  /**
   * Whether the message can be shown to the users of the agent, besides the model: it is Sandgate's own, or of a
   * `ToolFailure` that does not say otherwise. Anything else that a tool throws is for the model alone.
   */
  readonly userVisible: boolean;
  /** The limit that was exceeded, with `limit_exceeded`. */
  readonly limit?: LimitName;
}

/** A failure inside the pipeline: an error for the model, and what only the operator sees. */
export interface DispatchFailure extends ToolError {
  readonly detail?: string;
  /** With `validation_error`: everything that is wrong with the arguments. */
  readonly problems?: readonly ArgumentProblem[];
  /** The reference in the message, which stands for the text that the model must not read. */
  readonly reference?: string;
}

/** The number of names in the text for an unknown tool. */
export const MAX_NAMES_LISTED = 50;
const MAX_NAME_LENGTH = 64;
const MAX_MESSAGE_LENGTH = 4_096;
const MAX_VALIDATION_ERRORS = 10;
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Quotes a name, which the model chose: truncated, on one line, and without characters that cannot be seen. */
function quote(name: string): string {
  const clean = name.replace(UNPRINTABLE, "\ufffd");
  return clean.length <= MAX_NAME_LENGTH ? `'${clean}'` : `'${beginning(clean, MAX_NAME_LENGTH)}…'`;
}

/**
 * `Tool 'X' not found. Available: [a, b, c]`
 *
 * @param listed At most {@link MAX_NAMES_LISTED} names.
 * @param more The number of further names, or `"some"` if they were not counted.
 * @param meant The name that is most likely meant. Default: none is.
 */
export function notFoundText(
  name: string,
  listed: readonly string[],
  more: number | "some",
  meant?: string,
): string {
  const rest = more === "some" ? ", and more" : more > 0 ? `, and ${more} more` : "";
  const hint = meant === undefined ? "." : `: did you mean ${quote(meant)}?`;
  return `Tool ${quote(name)} not found${hint} Available: [${listed.join(", ")}${rest}]`;
}

/**
 * `Tool failed (reference 7f3a9c)`, or `Tool failed: ENOENT, no such file or directory (reference 7f3a9c)`: the text for an error
 * that the tool did not mean for the model.
 *
 * @param systemCode The operating system's code. Any other text is not shown.
 */
export function redactedText(reference: string, systemCode?: string): string {
  const meaning = systemCode === undefined ? undefined : systemErrorText(systemCode);
  const why = meaning === undefined ? "" : `: ${systemCode}, ${meaning}`;
  return `Tool failed${why} (reference ${reference})`;
}

/** `Invalid arguments: /path must be string; …`, with at most {@link MAX_VALIDATION_ERRORS} errors. */
export function invalidArgumentsText(errors: readonly string[]): string {
  return `Invalid arguments: ${listErrors(errors)}`;
}

/** `Invalid arguments of 'X': /path must be string`: names the tool in a text about its arguments. */
export function ofTool(name: string, text: string): string {
  return text.replace(/^Invalid arguments:/, () => `Invalid arguments of ${quote(name)}:`);
}

/** `Tool returned an invalid output: /count must be integer`. */
export function invalidOutputText(errors: readonly string[]): string {
  return `Tool returned an invalid output: ${listErrors(errors)}`;
}

function listErrors(errors: readonly string[]): string {
  const listed = errors.slice(0, MAX_VALIDATION_ERRORS).join("; ");
  const more = errors.length - MAX_VALIDATION_ERRORS;
  return `${listed}${more > 0 ? `; and ${more} more` : ""}`;
}

/** The text for a tool whose own validation failed, other than by finding problems. */
export function notValidatedText(): string {
  return "Invalid arguments: the tool could not validate them";
}

/** Why a call was denied. The rule or the hook's reason is only for the operator. */
export type DenialCause =
  | "caller"
  | "definition"
  | "policy"
  | "policy-failed"
  | "hook"
  | "hook-failed"
  | "no-approver"
  | "principal"
  | "secret"
  | "workspace";

const DENIALS: Record<DenialCause, (tool: string) => string> = {
  secret: (tool) => `the arguments of tool ${tool} hold a secret`,
  workspace: (tool) => `the workspace for tool ${tool} cannot be opened`,
  principal: (tool) => `the caller of tool ${tool} could not be identified`,
  caller: (tool) => `the calling tool is not allowed to call tool ${tool}`,
  definition: (tool) => `the definition of tool ${tool} is not the one that was approved`,
  policy: (tool) => `tool ${tool} is disabled by policy`,
  "policy-failed": (tool) => `the policy could not decide on tool ${tool}`,
  hook: (tool) => `tool ${tool} was refused by a hook`,
  "hook-failed": (tool) => `a hook could not decide on tool ${tool}`,
  "no-approver": (tool) => `tool ${tool} requires confirmation, and no approver is available`,
};

/** `Permission denied: tool 'X' is disabled by policy`. */
export function deniedText(tool: string, cause: DenialCause): string {
  return `Permission denied: ${DENIALS[cause](quote(tool))}`;
}

/** `Permission denied: tool 'X' needs the capability 'engine', which was not granted`. */
export function ungrantedText(tool: string, capability: CapabilityName): string {
  return `Permission denied: tool ${quote(tool)} needs the capability '${capability}', which was not granted`;
}

/** The text for a path that a tool declares as written, in a place where other programs run or read what is there. */
export function protectedPlaceText(path: string, reason: string): string {
  return `Cannot write '${path}': what is there ${reason}, and the grant does not open this place`;
}

/** The question to a person about a write in places that are asked about. */
export function protectedQuestion(paths: readonly string[]): string {
  return `May the tool write ${paths.join(", ")}?`;
}

/** The text for a tool if a hook aborts a call that it makes. */
export function abortedByHookText(): string {
  return "Permission denied: a hook aborted the call";
}

/** `Tool exceeded 30s wall time limit`. */
export function timeoutText(wallTimeMs: number): string {
  return `Tool exceeded ${formatDuration(wallTimeMs)} wall time limit`;
}

/** The longest reason of a denial, in UTF-16 code units. */
export const MAX_REASON_CHARS = 1_000;

/**
 * The text of a call that a person denied: `User denied this operation.`, and their reason as a JSON string, so that nothing in
 * it reads as a text of Sandgate.
 *
 * @param reason Cut after {@link MAX_REASON_CHARS}. Default: none.
 */
export function userDeniedText(reason = ""): string {
  const denied = "User denied this operation.";
  return reason === ""
    ? denied
    : `${denied} Their reason: ${JSON.stringify(beginning(reason, MAX_REASON_CHARS))}`;
}

/** `Nobody confirmed this operation within 5min`, or `in time` unless the milliseconds are a number. */
export function confirmationTimeoutText(afterMs: unknown): string {
  const time = Number.isFinite(afterMs) ? `within ${formatMinutes(afterMs as number)}` : "in time";
  return `Nobody confirmed this operation ${time}`;
}

/** The text of a call that was cancelled. */
export const CANCELLED_TEXT = "Tool call was cancelled";

/** The text of a call whose tool threw something without a readable message. */
export const UNKNOWN_FAILURE_TEXT = "Tool failed without a message";

/** A tool's own message, truncated and without control characters. */
export function executionErrorText(message: string): string {
  const clean = message.replace(CONTROL_CHARACTERS, "\ufffd").trim();
  if (clean === "") return UNKNOWN_FAILURE_TEXT;
  return clean.length <= MAX_MESSAGE_LENGTH ? clean : `${beginning(clean, MAX_MESSAGE_LENGTH)}…`;
}

/** The text of a call that the granted sandbox cannot run. */
export function unavailableText(tool: string, sandbox: SandboxMode): string {
  return `Tool ${quote(tool)} cannot run now: its '${sandbox}' sandbox is not available`;
}

/** The text of a call whose sandbox was lost after the call could have begun, so that it is not simply called again. */
export function lostSandboxText(tool: string, sandbox: SandboxMode): string {
  return `The '${sandbox}' sandbox of tool ${quote(tool)} was lost during the call; whether it took effect is not known`;
}

/** `Tool 'X' never began: it waited 30s for its turn, and had no effect. Call it again later`. */
export function neverBeganText(tool: string, waitedMs: number): string {
  const waited = formatDuration(waitedMs < 1_000 ? Math.round(waitedMs) : Math.round(waitedMs / 100) * 100);
  return `Tool ${quote(tool)} never began: it waited ${waited} for its turn, and had no effect. Call it again later`;
}

/** The text of a call that was running when its process ended. */
export function interruptedText(tool: string): string {
  return `Tool ${quote(tool)} was interrupted; whether it took effect is not known`;
}

/** `The suspended call of tool 'X' cannot continue: …; whether it took effect is not known`. */
export function suspensionRefusedText(tool: string, reason: string): string {
  return `The suspended call of tool ${quote(tool)} cannot continue: ${reason}; whether it took effect is not known`;
}

/** The text of a call that ended before its process did, of whose result only the record is left. */
export function lostResultText(tool: string, success: boolean): string {
  return success
    ? `Tool ${quote(tool)} completed, but its result was lost in a restart`
    : `Tool ${quote(tool)} failed, but its message was lost in a restart`;
}

/** The text of a call whose record could not be written before it ran. */
export function notRecordedText(tool: string): string {
  return `Tool ${quote(tool)} was not run: its record could not be written`;
}

const LIMIT_WORDS: Record<LimitName, string> = {
  wallTimeMs: "wall time",
  cpuMs: "CPU time",
  memoryBytes: "memory",
  outputBytes: "output",
  stackBytes: "stack",
  logLines: "log lines",
  nestedCalls: "nested calls",
  fileBytes: "file",
  netBytes: "network",
  processes: "processes",
  processMemoryBytes: "process memory",
  waitTimeMs: "waiting time",
};

/** `Tool exceeded 64 MiB memory limit`. */
export function limitExceededText(limit: LimitName, limits: ResourceLimits): string {
  const value = limits[limit];
  if (value === undefined) return `Tool exceeded its ${LIMIT_WORDS[limit]} limit`;
  return `Tool exceeded ${formatLimit(limit, value)} ${LIMIT_WORDS[limit]} limit`;
}

/** The text of a call whose sandbox cannot enforce a limit of the grant. */
export function limitUnenforceableText(limit: LimitName, tool: string, sandbox: SandboxMode): string {
  return `Tool ${quote(tool)} was not run: its ${LIMIT_WORDS[limit]} limit cannot be enforced in the '${sandbox}' sandbox`;
}

/** The text of a nested call whose sandbox does not support a capability that its caller passes on. */
export function inheritedCapabilityText(tool: string, capability: string, sandbox: SandboxMode): string {
  return `Tool ${quote(tool)} cannot run: the calling tool has the capability '${capability}', which the '${sandbox}' sandbox does not support`;
}
