import { beginning, wellFormed } from "../../base/text.ts";
import type { DeniedRecord, DispatchedRecord, EndedRecord } from "../../engine/call/journal.ts";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import { type Changes, toChanges } from "../../tool/changes.ts";
import type { JournalEntry, RecordParts } from "./entry.ts";

/** The arguments of a call as its record shows them. */
export interface ShownArguments {
  /** Canonical JSON. */
  readonly text: string;
  /** The digest of the arguments as the call has them. */
  readonly digest: string;
  /** The digest of the sealed arguments in the file beside the journal. Default: they are not sealed. */
  readonly sealed?: string | undefined;
  /** What is written to that file. */
  readonly line?: string | undefined;
}

/** Ids and names that a model chose are cut beyond this length, in UTF-16 code units. */
const MAX_NAME_LENGTH = 1_024;
const MAX_REASON_LENGTH = 4_096;

/**
 * The record of a call that is about to run.
 *
 * @param names The names of the call.
 */
export function dispatchedParts(
  record: DispatchedRecord,
  names: CallNames,
  shown: ShownArguments,
): RecordParts {
  const { confirmation, decision, definitionDigest, grant, sideEffects, sources } = record;
  return {
    beforeAt: answerMember(record) + argumentMembers(shown),
    beforePrev:
      (confirmation === undefined ? "" : `"confirmation":${canonicalText(plain(confirmation))},`) +
      timeMember(record) +
      `"decision":"${decision}","definitionDigest":"${definitionDigest}","grant":${textOf(grant)},` +
      messageMember(names) +
      origin(record),
    beforeSeq: principalMember(record) + ruleMember(record) + sealedMember(shown),
    afterSeq:
      `"session":${quoted(names.session)},"sideEffects":"${sideEffects}",` +
      (sources === undefined ? "" : `"sources":${canonicalText(plain(sources))},`) +
      call(names, "tool.call.dispatched"),
  };
}

/**
 * The record of a call that ended.
 *
 * @param names The names of the call.
 */
export function endedParts(record: EndedRecord, names: CallNames): RecordParts {
  const { changes, code, effect, limit, output, questions, receipt, success } = record;
  const { ended, enforced, grant, isolation, mayStillRun, used } = receipt;
  return {
    beforeAt: "",
    beforePrev:
      changesMember(changes) +
      (code === undefined ? "" : `"code":"${code}",`) +
      (effect === undefined ? "" : `"effect":"${effect}",`) +
      (limit === undefined ? "" : `"limit":"${limit}",`) +
      messageMember(names) +
      (success ? `"outputDigest":"${output.digest}",` : "") +
      origin(record),
    beforeSeq:
      principalMember(record) +
      (questions === undefined ? "" : `"questions":${canonicalText(plain(questions))},`) +
      '"receipt":{' +
      (ended === undefined ? "" : `"ended":"${ended}",`) +
      `"enforced":${textOf(enforced)},` +
      (grant === undefined ? "" : `"grant":{"digest":"${grant.digest}"},`) +
      (isolation === undefined ? "" : `"isolation":"${isolation}",`) +
      (mayStillRun === undefined ? "" : `"mayStillRun":true,`) +
      `"used":${canonicalText(used as unknown as JsonValue)}},`,
    afterSeq:
      `"session":${quoted(names.session)},` +
      (record.isSuspended ? '"suspended":true,' : "") +
      call(names, "tool.call.ended"),
  };
}

/** Maximum number of characters of the paths of changed files in a record. */
const MAX_CHANGES_LENGTH = 65_536;

/** Cuts a list of changes that would be longer than most journals. */
function changesMember(changes: Changes | undefined): string {
  if (changes === undefined) return "";
  let length = 0;
  const files = changes.files.filter(({ path }) => {
    length += path.length;
    return length <= MAX_CHANGES_LENGTH;
  });
  const more = changes.more === true || files.length < changes.files.length;
  return `"changes":${canonicalText(plain(toChanges(files, { ...changes, more })))},`;
}

/** The record of a call that did not run. */
export function deniedParts(record: DeniedRecord, shown: ShownArguments | undefined): RecordParts {
  const { code, confirmation, decision, definitionDigest, grant, near, reason, sideEffects, slug } = record;
  const names = namesOf(record);
  return {
    beforeAt: answerMember(record) + (shown === undefined ? "" : argumentMembers(shown)),
    beforePrev:
      `"code":"${code}",` +
      (confirmation === undefined ? "" : `"confirmation":${canonicalText(plain(confirmation))},`) +
      timeMember(record) +
      (decision === undefined ? "" : `"decision":"${decision}",`) +
      (definitionDigest === undefined ? "" : `"definitionDigest":"${definitionDigest}",`) +
      (grant === undefined ? "" : `"grant":${textOf(grant)},`) +
      messageMember(names) +
      (near === undefined || near.length === 0 ? "" : `"near":${canonicalText(plain(near))},`) +
      origin(record),
    beforeSeq:
      principalMember(record) +
      (reason === undefined
        ? ""
        : `"reason":${JSON.stringify(wellFormed(beginning(reason, MAX_REASON_LENGTH)))},`) +
      ruleMember(record) +
      sealedMember(shown),
    afterSeq:
      `"session":${quoted(names.session)},` +
      (sideEffects === undefined ? "" : `"sideEffects":"${sideEffects}",`) +
      (slug === undefined ? "" : `"slug":${quoted(slug)},`) +
      call(names, "tool.call.denied"),
  };
}

/** The call that a record of an interrupted call names, as the record of its beginning did. */
export interface CallNames {
  readonly session: string;
  readonly tool: string;
  readonly tool_call_id: string;
  readonly turn?: string;
  readonly message?: string;
}

/** The record of a call that was running when the process ended: whether it took effect is not known. */
export function interruptedParts(names: CallNames): RecordParts {
  return {
    beforeAt: "",
    beforePrev: `"code":"execution_error","effect":"unknown","interrupted":true,${messageMember(names)}`,
    beforeSeq: "",
    afterSeq: `"session":${quoted(names.session)},${call(names, "tool.call.ended")}`,
  };
}

/** Returns the names of a call as its records have them. */
export function namesOf(record: {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  readonly turnId?: string;
  readonly messageId?: string;
}): CallNames {
  const { turnId, messageId } = record;
  return {
    session: recordedName(record.sessionId),
    tool: recordedName(record.toolName),
    tool_call_id: recordedName(record.callId),
    ...(turnId !== undefined && { turn: recordedName(turnId) }),
    ...(messageId !== undefined && { message: recordedName(messageId) }),
  };
}

/** Returns the names that a record of a call has. */
export function namesIn({ session, tool, tool_call_id: callId, turn, message }: JournalEntry): CallNames {
  return {
    session: String(session),
    tool: String(tool),
    tool_call_id: String(callId),
    ...(typeof turn === "string" && { turn }),
    ...(typeof message === "string" && { message }),
  };
}

function answerMember({ answer }: Pick<DeniedRecord, "answer">): string {
  return answer === undefined ? "" : `"answer":${canonicalText(plain(answer))},`;
}

function timeMember({ decidedAt }: Pick<DeniedRecord, "decidedAt">): string {
  return decidedAt === undefined ? "" : `"decidedAt":${decidedAt},`;
}

function argumentMembers({ text, digest }: ShownArguments): string {
  return `"args":${text},"argumentDigest":"${digest}",`;
}

function sealedMember(shown: ShownArguments | undefined): string {
  return shown?.sealed === undefined ? "" : `"sealed":"${shown.sealed}",`;
}

function origin({
  parent,
  policyDecision,
  policyRevision,
}: Pick<DeniedRecord, "parent" | "policyDecision" | "policyRevision">): string {
  return (
    (parent === undefined ? "" : `"parent":${JSON.stringify(recordedName(parent))},`) +
    (policyDecision === undefined ? "" : `"policyDecision":"${policyDecision}",`) +
    (policyRevision === undefined ? "" : `"policyRevision":${quoted(recordedName(policyRevision))},`)
  );
}

function messageMember({ message }: CallNames): string {
  return message === undefined ? "" : `"message":${JSON.stringify(message)},`;
}

function principalMember({ principal }: Pick<DeniedRecord, "principal">): string {
  return principal === undefined ? "" : `"principal":${textOf(principal)},`;
}

function ruleMember({ rules }: Pick<DeniedRecord, "rules">): string {
  return `"rules":${rules.length === 0 ? "[]" : textOf(rules)},`;
}

function call({ tool, tool_call_id: callId, turn }: CallNames, type: string): string {
  const turnMember = turn === undefined ? "" : `"turn":${quoted(turn)},`;
  return `"tool":${quoted(tool)},"tool_call_id":${JSON.stringify(callId)},${turnMember}"type":"${type}"`;
}

/** The JSON texts of names that many records share. When there are too many, all of them are forgotten. */
const quotedNames = new Map<string, string>();
const MAX_QUOTED = 1_000;

function quoted(name: string): string {
  let text = quotedNames.get(name);
  if (text === undefined) {
    text = JSON.stringify(name);
    if (quotedNames.size >= MAX_QUOTED) quotedNames.clear();
    quotedNames.set(name, text);
  }
  return text;
}

/** Returns an id or a name as records have it. */
export function recordedName(text: string): string {
  return wellFormed(text.length > MAX_NAME_LENGTH ? `${beginning(text, MAX_NAME_LENGTH)}…` : text);
}

/** The canonical texts of frozen objects that many records share: grants, limits, principals and lists of rules. */
const texts = new WeakMap<object, string>();

function textOf(shared: object): string {
  let text = texts.get(shared);
  if (text === undefined) {
    text = canonicalText(plain(shared));
    if (Object.isFrozen(shared)) texts.set(shared, text);
  }
  return text;
}

function plain(value: object): JsonValue {
  return value as unknown as JsonValue;
}
