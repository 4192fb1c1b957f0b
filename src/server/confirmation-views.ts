import { isUtf8 } from "node:buffer";
import type { Tool } from "../engine/tool.ts";
import { parseJson } from "../json/parse.ts";
import { lookUp, parsePointer } from "../json/pointer.ts";
import { isJsonObject } from "../json/value.ts";
import { isFileGrant } from "../policy/grant/fs-grant.ts";
import type { Confirmation, ConfirmationRecord, Resolution } from "../sessions/confirmations/confirmation.ts";
import type { Session } from "../sessions/session.ts";
import type {
  ConfirmationIdentity,
  ConfirmationView,
  OpenConfirmation,
  WholeConfirmation,
} from "../shapes/confirmations.ts";
import { WorkspaceError } from "../workspace/error.ts";
import { WorkspaceFile } from "../workspace/file.ts";
import { Workspace } from "../workspace/workspace.ts";

/** The longest file that is shown, in bytes. */
const MAX_BYTES = 262_144;

/** A confirmation as it is listed: without what can be long. */
export function confirmationView(confirmation: Confirmation): OpenConfirmation {
  const { digest } = confirmation;
  if (confirmation.kind === "question") {
    const { questionSummary, options, multiple } = confirmation.shown;
    const { text: question, missing } = questionSummary;
    return {
      ...identityView(confirmation),
      question,
      missing,
      ...(options && { options }),
      multiple,
      digest,
    };
  }
  const { inputSummary, projectedChanges, question, grant } = confirmation.shown;
  return {
    ...identityView(confirmation),
    inputSummary: inputSummary.text,
    missing: inputSummary.missing,
    projectedChanges,
    question,
    digest,
    grant,
  };
}

/** Adds what people call the session of a confirmation. */
export function inSession<View extends ConfirmationView>(view: View, { name }: Pick<Session, "name">): View {
  return name === undefined ? view : { ...view, sessionName: name };
}

/** A confirmation as it is listed to the caller of its session: of a nested call, it learns no more than that it is asked. */
export function callerConfirmationView(confirmation: Confirmation): OpenConfirmation | ConfirmationIdentity {
  return confirmation.parent === undefined ? confirmationView(confirmation) : identityView(confirmation);
}

/** What a nested call is about is between its tool and those who answer. Its digest would confirm a guess. */
function identityView(confirmation: Confirmation): ConfirmationIdentity {
  const {
    id: requestId,
    shown,
    kind,
    sessionId,
    turnId,
    messageId,
    callId,
    principal,
    parent,
  } = confirmation;
  const { choices, askedAt, expiresAt } = confirmation;
  const { toolName, sideEffects } = shown;
  return {
    requestId,
    kind,
    sessionId,
    turnId,
    ...(messageId !== undefined && { messageId }),
    callId,
    ...(principal !== undefined && { principal }),
    ...(parent !== undefined && { parent }),
    toolName,
    sideEffects,
    choices,
    askedAt,
    expiresAt,
  };
}

/**
 * A whole confirmation: with all the arguments or the whole question, secrets included, and how it ended.
 *
 * @param tool That of the call; `undefined` if it is not registered any more.
 */
export function wholeConfirmationView(
  { confirmation, resolution }: ConfirmationRecord,
  tool: Tool<never, never> | undefined,
): WholeConfirmation {
  return {
    ...confirmationView(confirmation),
    ...wholeText(confirmation),
    ...(confirmation.kind !== "question" && {
      rules: confirmation.shown.rules,
      ...(tool && { argumentOrder: argumentOrder(tool) }),
    }),
    ...(resolution !== undefined && { resolution: { ...resolution } }),
  };
}

/** Maximum number of names of arguments, and the longest one, in characters. */
const MAX_ARGUMENTS = 200;
const MAX_NAME_CHARS = 256;

/** The names of a tool's arguments in the order of its schema, after those that are paths and URLs. */
function argumentOrder({ inputSchema, paths = [], urls = [] }: Tool<never, never>): readonly string[] {
  const places = [...paths, ...urls].map(({ argument }) => argument.split("/")[1] ?? "");
  const { properties } = inputSchema;
  const names = [...places, ...(isJsonObject(properties) ? Object.keys(properties) : [])];
  const short = names.filter((name) => name !== "" && name.length <= MAX_NAME_CHARS);
  return [...new Set(short)].slice(0, MAX_ARGUMENTS);
}

/** The same for the caller of its session: without the policy's rules, and of a nested call not what it is about. */
export function callerWholeConfirmationView({
  confirmation,
  resolution,
}: ConfirmationRecord): ConfirmationView {
  const isNested = confirmation.parent !== undefined;
  return {
    ...callerConfirmationView(confirmation),
    ...(!isNested && wholeText(confirmation)),
    ...(resolution !== undefined && { resolution: isNested ? withoutAnswer(resolution) : { ...resolution } }),
  };
}

/** How a confirmation ended, without what the person wrote. */
function withoutAnswer({ decision, choice, by, at }: Resolution): Resolution {
  return { decision, ...(choice && { choice }), ...(by !== undefined && { by }), at };
}

function wholeText(confirmation: Confirmation): Pick<ConfirmationView, "arguments" | "wholeQuestion"> {
  return confirmation.kind === "question"
    ? { wholeQuestion: confirmation.shown.question }
    : { arguments: confirmation.shown.arguments };
}

/** A whole confirmation for those who answer it: with the text, as it is now, of the file that the call would write. */
export function approverConfirmationView(
  record: ConfirmationRecord,
  tool: Tool<never, never> | undefined,
): WholeConfirmation {
  const text = currentText(record.confirmation, tool);
  return { ...wholeConfirmationView(record, tool), ...(text !== undefined && { currentText: text }) };
}

/**
 * Returns the current text of the only file that a call declares to write, for a person who decides about the call. It
 * is read as the tool would: under the call's grant, which leads nowhere else.
 *
 * @param tool That of the call; `undefined` if it is not registered any more.
 * @returns `null` if there is no such file yet; `undefined` if that is not known, or the file is no text, or too long.
 */
function currentText(
  confirmation: Confirmation,
  tool: Pick<Tool<never, never>, "paths" | "usesFiles"> | undefined,
): string | null | undefined {
  if (confirmation.kind !== "call" || !tool?.usesFiles) return undefined;
  const { fs = [] } = confirmation.shown.grant.capabilities ?? {};
  const [granted, ...otherGrants] = fs;
  const [written, ...others] = (tool.paths ?? []).filter(({ access }) => access === "write");
  if (granted === undefined || isFileGrant(granted) || otherGrants.length + others.length > 0)
    return undefined;
  const parsed = parseJson(confirmation.shown.arguments);
  const path =
    "value" in parsed && written !== undefined
      ? lookUp(parsed.value, parsePointer(written.argument))
      : undefined;
  if (typeof path !== "string") return undefined;
  try {
    using workspace = new Workspace([{ ...granted, write: false }], 0);
    const file = workspace.directories[0]?.directory.open(path, { read: true, follow: true });
    return file instanceof WorkspaceFile ? textOf(file) : undefined;
  } catch (error) {
    return error instanceof WorkspaceError && error.code === "no-entry" ? null : undefined;
  }
}

function textOf(file: WorkspaceFile): string | undefined {
  if (file.sizeAtOpen > MAX_BYTES) return undefined;
  const bytes = file.read(0, MAX_BYTES);
  return isUtf8(bytes) ? Buffer.from(bytes).toString("utf8") : undefined;
}
