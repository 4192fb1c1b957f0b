import { CanonicalJson, canonicalText } from "../../json/canonical.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { PolicyRequest, PolicySubject } from "../../policy/policy.ts";
import type { Principal } from "../../policy/principal.ts";
import type { JournalEntry } from "../line/entry.ts";
import { RecordedInputs } from "../recorded-inputs.ts";
import { ArgumentReader } from "./argument-reader.ts";

/** The replacement of a secret in recorded arguments, or in the names of their members: see `Redaction`. */
const MARK = "[redacted: ";

/** Why a recorded call cannot be decided again. */
export type UndecidableCause =
  | "policy in code"
  | "policy not kept"
  | "tool not kept"
  | "tool changed"
  | "no valid record"
  | "arguments redacted"
  | "arguments forgotten"
  | "workspace not recorded"
  | "history not recorded";

/** Whether a record is that of a call on which a policy decided, or which failed before. */
export function isCallRecord({ type }: JournalEntry): boolean {
  return type === "tool.call.dispatched" || type === "tool.call.denied";
}

/** The time of the decision on a recorded call, in milliseconds since the epoch: that of its record, if no policy read it. */
export function decidedAt({ at, decidedAt: time }: JournalEntry): number {
  return Number.isSafeInteger(time) ? (time as number) : at;
}

/** Makes requests of recorded calls again, as far as the records and what is stored beside the journal allow. */
export class RecordedCalls {
  readonly #arguments: ArgumentReader;
  readonly #tools: ReadonlyMap<string, PolicySubject>;

  private constructor(args: ArgumentReader, tools: ReadonlyMap<string, PolicySubject>) {
    this.#arguments = args;
    this.#tools = tools;
  }

  /**
   * @param directory Of the journal.
   * @throws {JournalError} if a file of the journal cannot be read.
   */
  static async open(directory: string): Promise<RecordedCalls> {
    const tools = new Map<string, PolicySubject>();
    for (const [digest, tool] of await new RecordedInputs(directory).tools()) {
      tools.set(digest, { ...tool, definition: { digest } });
    }
    return new RecordedCalls(await ArgumentReader.open(directory), tools);
  }

  /** Returns the request on which a policy decided, or why it cannot be made again. */
  requestOf(entry: JournalEntry): RecordedRequest | UndecidableCause {
    const { args = null, definitionDigest, principal, sealed, session, tool_call_id: callId } = entry;
    const read = this.#arguments.read(entry, canonicalText(args));
    // The text has the digest of the arguments, which were valid JSON.
    const input = "missing" in read || sealed === undefined ? args : (JSON.parse(read.text) as JsonValue);
    const request = this.requestFor({
      definitionDigest: String(definitionDigest),
      input,
      sessionId: String(session),
      callId: String(callId),
      principal: principal as JsonObject | undefined,
    });
    if (typeof request === "string" || !("missing" in read)) return request;
    if (read.missing === "forgotten") return "arguments forgotten";
    // If they differ even without replaced secrets, they were changed in another way.
    return read.missing === "redacted" && hasRedacted(args) ? request.withoutSecrets() : "arguments redacted";
  }

  /** Returns the request of a call whose arguments are known. */
  requestFor({ definitionDigest, ...call }: RecordedParts): RecordedRequest | "tool not kept" {
    const tool = this.#tools.get(definitionDigest);
    return tool === undefined ? "tool not kept" : new RecordedRequest(call, tool);
  }
}

/** What is recorded of a call. */
interface RecordedParts {
  readonly definitionDigest: string;
  readonly input: JsonValue;
  readonly principal: JsonObject | undefined;
  /** Default: the empty string, if no decision depends on them. */
  readonly sessionId?: string;
  readonly callId?: string;
}

/** The request of a recorded call. It notices if a policy depends on what is not recorded. */
export class RecordedRequest implements PolicyRequest {
  readonly callId: string;
  readonly sessionId: string;
  readonly principal?: Principal;
  input: JsonValue;
  readonly tool: PolicySubject;
  /** What a policy needs to decide on the call, and does not have. */
  missing:
    | Extract<UndecidableCause, `${string} not recorded` | "tool changed" | "arguments redacted">
    | undefined;

  constructor(
    { input, principal, sessionId = "", callId = "" }: Omit<RecordedParts, "definitionDigest">,
    tool: PolicySubject,
  ) {
    this.callId = callId;
    this.sessionId = sessionId;
    this.input = input;
    this.tool = tool;
    if (principal !== undefined) this.principal = principal as unknown as Principal;
  }

  /** Notices if a policy reads a part of the arguments that was redacted. */
  withoutSecrets(): this {
    this.input = watchRedacted(this.input, () => {
      this.missing = "arguments redacted";
    });
    return this;
  }

  get canonical(): CanonicalJson {
    return new CanonicalJson(this.input);
  }

  get workspace(): undefined {
    this.missing ??= "workspace not recorded";
    return undefined;
  }

  /** Where paths led depends on the workspace. */
  get paths(): undefined {
    return this.workspace;
  }

  get history(): undefined {
    this.missing ??= "history not recorded";
    return undefined;
  }
}

/** Whether a part of recorded arguments was redacted. */
function hasRedacted(value: JsonValue): boolean {
  return JSON.stringify(value).includes(MARK);
}

/**
 * Returns recorded arguments that say when a part of them is read that was redacted: its text, its name, or a member that may have
 * had another name.
 */
function watchRedacted(value: JsonValue, onRead: () => void): JsonValue {
  if (typeof value === "string" && value.includes(MARK)) onRead();
  if (typeof value !== "object" || value === null) return value;
  const names = Object.keys(value);
  const hasRedactedName = names.some((name) => name.includes(MARK));
  // A copy that is not frozen: a proxy must return the values of a frozen one as they are.
  const copy = isJsonObject(value) ? { ...value } : [...value];
  const read = (key: string | symbol): void => {
    if (typeof key !== "string") return;
    const found: unknown = Reflect.get(copy, key);
    if (typeof found === "string" ? found.includes(MARK) : found === undefined && hasRedactedName) onRead();
  };
  return new Proxy<JsonObject | JsonValue[]>(copy as JsonObject | JsonValue[], {
    get(target, key, receiver) {
      read(key);
      const found: unknown = Reflect.get(target, key, receiver);
      return typeof key === "string" && Object.hasOwn(target, key)
        ? watchRedacted(found as JsonValue, onRead)
        : found;
    },
    has(target, key) {
      read(key);
      return Reflect.has(target, key);
    },
    getOwnPropertyDescriptor(target, key) {
      read(key);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
    ownKeys(target) {
      if (hasRedactedName) onRead();
      return Reflect.ownKeys(target);
    },
  }) as JsonValue;
}
