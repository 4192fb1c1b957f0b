import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { parseAnswer } from "../../json/parse-answer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { shown } from "../../rendering/shown.ts";
import {
  type AnswerTo,
  type Input,
  type Inputs,
  type Route,
  requestTo,
  type SentRequest,
} from "../../shapes/client.ts";
import type { QuestionAnswer } from "../../tool/question.ts";
import {
  type AskedCall,
  type AskedQuestion,
  showConfirmation,
  shownId,
  showQuestion,
} from "../confirmation.ts";
import { type Answered, Dialogue } from "../confirmation-dialogue.ts";
import { UsageError } from "../errors.ts";
import { EXIT_INTERRUPTED, EXIT_OK, type ExitCode, print, type Terminal } from "../terminal.ts";

/** A body of a server, which is not trusted. Members of later versions are ignored. */
type Untrusted<Body> = { readonly [Name in keyof Body]?: JsonValue };

const CONFIRMATION = "/v1/sessions/:id/turns/:turnId/confirmations/:requestId";

/** A confirmation as a server describes it. */
type DescribedConfirmation = Untrusted<AnswerTo<`GET ${typeof CONFIRMATION}`>>;

/** The ids of a confirmation, as they are in its path. */
type ConfirmationIds = Input<`GET ${typeof CONFIRMATION}`>["params"];

/** A confirmation of a server. */
type ServerConfirmation = ServerCall | ServerQuestion;

/** A call that waits for an answer. */
interface ServerCall extends AskedCall, ServerConfirmationBase {
  readonly kind: "call";
}

/** A question of a tool that waits for an answer. */
interface ServerQuestion extends AskedQuestion, ServerConfirmationBase {
  readonly kind: "question";
}

interface ServerConfirmationBase {
  readonly requestId: string;
  /** The calls of one assistant message, and their questions, have the same. */
  readonly messageKey: string;
  readonly ids: ConfirmationIds;
  readonly digest: string;
}

/** What a person answers. */
type Reply = Answered | { readonly decision: "answer"; readonly answer: QuestionAnswer };

const MAX_BYTES = 64 * 1_024 * 1_024;

/** Milliseconds for a request and its whole response. */
const TIMEOUT_MS = 30_000;

/** Lists and answers the confirmations of a server, as the approver whose token it has. */
class ServerClient {
  readonly #url: URL;
  readonly #token: string;
  readonly #signal: AbortSignal | undefined;

  /** @throws {UsageError} unless the URL is one of HTTP or HTTPS. */
  constructor(url: string, token: string, signal: AbortSignal | undefined) {
    const parsed = URL.parse(url);
    if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
      throw new UsageError(shown`URL must be like http://127.0.0.1:7420, not '${url}'`);
    }
    this.#url = parsed;
    this.#token = token;
    this.#signal = signal;
  }

  /** Returns the open confirmations, with whole arguments, the oldest first. */
  async confirmations(): Promise<readonly ServerConfirmation[]> {
    const { body } = await this.#send([], "GET /v1/confirmations");
    const listed = body.confirmations;
    if (!Array.isArray(listed)) throw this.#unexpected();
    const whole: ServerConfirmation[] = [];
    for (const each of listed) {
      if (!isJsonObject(each)) throw this.#unexpected();
      const ids = idsOf(each);
      const { status, body: confirmation } = await this.#send([404], `GET ${CONFIRMATION}`, { params: ids });
      if (status === 404 || confirmation.resolution !== undefined) continue;
      const read = readConfirmation(ids, confirmation);
      if (read === undefined) throw this.#unexpected();
      whole.push(read);
    }
    return whole;
  }

  /** Answers a confirmation. Returns its outcome as a text. */
  async answer({ ids, digest }: ServerConfirmation, reply: Reply): Promise<string> {
    const { status, body } = await this.#send([404, 409, 410, 422], `POST ${CONFIRMATION}`, {
      params: ids,
      body: { ...reply, digest },
    });
    if (status === 200) return `answered: ${reply.decision}`;
    if (status === 409) return `not counted: ${text(body.by)} answered first: ${text(body.decision)}`;
    if (status === 422) return "not counted: the confirmation has changed";
    return "not counted: the confirmation timed out or was cancelled";
  }

  async #send<Of extends Route>(
    accepted: readonly number[],
    route: Of,
    ...inputs: Inputs<Of>
  ): Promise<{ readonly status: number; readonly body: Untrusted<AnswerTo<Of>> }> {
    const { status, value } = await this.#exchange(requestTo(route, ...inputs));
    if (status === 200 || accepted.includes(status)) {
      if (!isJsonObject(value)) throw this.#unexpected();
      return { status, body: value as Untrusted<AnswerTo<Of>> };
    }
    const error = isJsonObject(value) ? value["error"] : undefined;
    const message = isJsonObject(error) ? text(error["message"]) : "the response is not of a Sandgate server";
    throw new UsageError(shown`${this.#url.origin} refused the request (${status}): ${message}`);
  }

  /** @returns the status and the body of the response; `undefined` in place of a body that is not JSON. */
  async #exchange({
    method,
    path,
    body,
  }: SentRequest): Promise<{ readonly status: number; readonly value: JsonValue | undefined }> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await fetch(new URL(path, this.#url), {
        method,
        headers: {
          authorization: `Bearer ${this.#token}`,
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: this.#signal === undefined ? timeout : AbortSignal.any([this.#signal, timeout]),
        // The token must not go elsewhere.
        redirect: "error",
      });
      return { status: response.status, value: await readJson(response) };
    } catch (error) {
      if (this.#signal?.aborted || error instanceof UsageError) throw error;
      const { cause = error } = error as Error;
      throw new UsageError(
        shown`cannot reach ${this.#url.origin}: ${cause instanceof Error ? cause.message : String(cause)}`,
      );
    }
  }

  #unexpected(): UsageError {
    return new UsageError(
      shown`the response of ${this.#url.origin} is not one of a Sandgate server that serves sessions`,
    );
  }
}

/** Options of `sandgate confirm`. */
interface ConfirmCommand {
  /** The server's. */
  readonly url: string;
  /** Default: the token is in the environment. */
  readonly tokenFile: string | undefined;
  /** Whether to wait for further confirmations. */
  readonly watch: boolean;
}

/** Milliseconds after which new confirmations are read. */
const WATCH_MS = 1_000;

/**
 * Lists the open confirmations of a server, and has the person at the terminal answer them. Without a terminal, it only lists.
 *
 * @throws {UsageError} if there is no token, or the server cannot be reached or refuses.
 */
export async function confirm(command: ConfirmCommand, terminal: Terminal): Promise<ExitCode> {
  const { signal, isInteractive } = terminal;
  const client = new ServerClient(command.url, await readToken(command), signal);
  if (!isInteractive) return list(client, terminal);
  using dialogue = new Dialogue(terminal);
  const seen = new Set<string>();
  try {
    do {
      const fresh = (await client.confirmations()).filter(({ requestId }) => !seen.has(requestId));
      for (const { requestId } of fresh) seen.add(requestId);
      if (fresh.length === 0 && !command.watch)
        await print(terminal.stderr, shown`there is nothing to confirm`);
      for (const confirmations of Map.groupBy(fresh, ({ messageKey }) => messageKey).values()) {
        await answer(client, dialogue, confirmations, terminal);
      }
      if (command.watch) await delay(WATCH_MS, undefined, signal && { signal });
    } while (command.watch);
  } catch (error) {
    if (!signal?.aborted) throw error;
  }
  return signal?.aborted ? EXIT_INTERRUPTED : EXIT_OK;
}

async function list(client: ServerClient, { stdout }: Terminal): Promise<ExitCode> {
  for (const confirmation of await client.confirmations()) {
    const { text } =
      confirmation.kind === "question" ? showQuestion(confirmation) : showConfirmation(confirmation);
    await print(stdout, text);
  }
  return EXIT_OK;
}

async function answer(
  client: ServerClient,
  dialogue: Dialogue,
  confirmations: readonly ServerConfirmation[],
  { stdout }: Terminal,
): Promise<void> {
  const report = async (confirmation: ServerConfirmation, reply: Reply): Promise<void> => {
    const outcome = await client.answer(confirmation, reply);
    await print(
      stdout,
      shown`call '${shownId(confirmation.callId)}' of '${confirmation.toolName}': ${outcome}`,
    );
  };
  const calls = confirmations.filter((confirmation) => confirmation.kind === "call");
  if (calls.length > 0) await dialogue.ask(calls, report);
  for (const question of confirmations) {
    if (question.kind !== "question") continue;
    const reply = await dialogue.askQuestion(question);
    if (reply === undefined) return;
    await report(question, reply === "deny" ? { decision: reply } : { decision: "answer", ...reply });
  }
}

async function readToken({ tokenFile }: ConfirmCommand): Promise<string> {
  const token = tokenFile === undefined ? process.env["SANDGATE_TOKEN"] : await readTokenFile(tokenFile);
  if (token !== undefined && token !== "") return token;
  throw new UsageError(shown`there is no token: name its file with --token-file, or set SANDGATE_TOKEN`);
}

async function readTokenFile(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch {
    throw new UsageError(shown`the token's file '${file}' cannot be read`);
  }
}

/** Returns `undefined` if the body is not JSON. */
async function readJson(response: Response): Promise<JsonValue | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > MAX_BYTES) throw new UsageError(shown`the server's response is longer than 64 MiB`);
    chunks.push(chunk as Uint8Array);
  }
  return parsed(Buffer.concat(chunks).toString());
}

function parsed(json: string): JsonValue | undefined {
  try {
    return parseAnswer(json);
  } catch {
    return undefined;
  }
}

/**
 * Reads a confirmation from the server's JSON: texts that are missing are empty. Returns `undefined` if a person could not
 * decide on it: it has no time at which it expires, or is about a call without a grant or with arguments that are not JSON.
 */
function readConfirmation(
  ids: ConfirmationIds,
  confirmation: DescribedConfirmation,
): ServerConfirmation | undefined {
  if (!Number.isSafeInteger(confirmation.expiresAt)) return undefined;
  const base = {
    ids,
    requestId: text(confirmation.requestId),
    digest: text(confirmation.digest),
    messageKey: JSON.stringify([confirmation.sessionId, confirmation.turnId, confirmation.messageId]),
    principal: confirmation.principal === undefined ? undefined : text(confirmation.principal),
    callId: text(confirmation.callId),
    toolName: text(confirmation.toolName),
    expiresAt: Number(confirmation.expiresAt),
  };
  if (confirmation.kind !== "question") return readCall(base, confirmation);
  return {
    ...base,
    kind: "question",
    question: text(confirmation.wholeQuestion),
    multiple: confirmation.multiple === true,
    ...(Array.isArray(confirmation.options) && { options: texts(confirmation.options) }),
  };
}

function readCall(
  base: Omit<ServerQuestion, "kind" | "question" | "options" | "multiple">,
  confirmation: DescribedConfirmation,
): ServerCall | undefined {
  const { grant, arguments: args } = confirmation;
  if (parsed(text(args)) === undefined || !isJsonObject(grant)) return undefined;
  const part = (name: string): JsonObject => {
    const value = grant[name];
    return isJsonObject(value) ? value : {};
  };
  return {
    ...base,
    kind: "call",
    sideEffects: text(confirmation.sideEffects),
    arguments: text(args),
    projectedChanges: texts(confirmation.projectedChanges),
    question: text(confirmation.question),
    grant: { sandbox: text(grant["sandbox"]), limits: part("limits"), capabilities: part("capabilities") },
    choices: texts(confirmation.choices),
  };
}

/** The ids of a confirmation in a list. */
function idsOf({ sessionId, turnId, requestId }: DescribedConfirmation): ConfirmationIds {
  return { id: text(sessionId), turnId: text(turnId), requestId: text(requestId) };
}

function texts(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(text) : [];
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
