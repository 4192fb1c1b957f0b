import { parseAnswer } from "../../json/parse-answer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { shown } from "../../rendering/shown.ts";
import { UsageError } from "../errors.ts";
import type { AskedCall } from "./asked-call.ts";
import type { Decision } from "./dialogue.ts";

/** An inquiry of a server. */
export interface ServerInquiry extends AskedCall {
  readonly requestId: string;
  /** The path of the inquiry. */
  readonly path: string;
  readonly digest: string;
}

const MAX_BYTES = 64 * 1_024 * 1_024;

/** Lists and answers the inquiries of a server, as the approver whose token it has. */
export class ServerClient {
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

  /** Returns the open inquiries, with whole arguments, the oldest first. */
  async inquiries(): Promise<readonly ServerInquiry[]> {
    const { body } = await this.#send("GET", "/v1/confirmations");
    const listed = Array.isArray(body["confirmations"]) ? body["confirmations"] : [];
    const whole: ServerInquiry[] = [];
    for (const each of listed) {
      const { sessionId, turnId, requestId } = each as Record<string, string>;
      const path = `/v1/sessions/${segment(sessionId)}/turns/${segment(turnId)}/confirmations/${segment(requestId)}`;
      const { status, body: inquiry } = await this.#send("GET", path, undefined, [404]);
      if (status === 404 || inquiry["resolution"] !== undefined) continue;
      whole.push(readInquiry(path, inquiry));
    }
    return whole;
  }

  /** Answers an inquiry. Returns what became of it, as a text. */
  async answer({ path, digest }: ServerInquiry, decision: Decision): Promise<string> {
    const { status, body } = await this.#send("POST", path, { decision, digest }, [404, 409, 410, 422]);
    if (status === 200) return `answered: ${decision}`;
    if (status === 409) return `not counted: ${text(body["by"])} answered first: ${text(body["decision"])}`;
    if (status === 422) return "not counted: the inquiry has changed";
    return "not counted: the inquiry timed out or was cancelled";
  }

  async #send(
    method: string,
    path: string,
    body?: JsonObject,
    accepted: readonly number[] = [],
  ): Promise<{ readonly status: number; readonly body: JsonObject }> {
    let response: Response;
    try {
      response = await fetch(new URL(path, this.#url), {
        method,
        headers: {
          authorization: `Bearer ${this.#token}`,
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(this.#signal && { signal: this.#signal }),
        // The token must not go elsewhere.
        redirect: "error",
      });
    } catch (error) {
      if (this.#signal?.aborted) throw error;
      const { cause = error } = error as Error;
      throw new UsageError(
        shown`cannot reach ${this.#url.origin}: ${cause instanceof Error ? cause.message : String(cause)}`,
      );
    }
    const value = await readJson(response);
    if (response.status === 200 || accepted.includes(response.status))
      return { status: response.status, body: value };
    const { message } = (value["error"] ?? {}) as { readonly message?: JsonValue };
    throw new UsageError(
      shown`${this.#url.origin} refused the request (${response.status}): ${text(message)}`,
    );
  }
}

async function readJson(response: Response): Promise<JsonObject> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > MAX_BYTES) throw new UsageError(shown`the server's response is too long`);
    chunks.push(chunk as Uint8Array);
  }
  try {
    const value = parseAnswer(Buffer.concat(chunks).toString());
    if (isJsonObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw new UsageError(shown`the server's response is not JSON: is it a Sandgate server?`);
}

/** Reads an inquiry from the server's JSON, of which the shape is not checked: what is missing is empty. */
function readInquiry(path: string, inquiry: JsonObject): ServerInquiry {
  const grant = (inquiry["grant"] ?? {}) as JsonObject;
  const list = (value: JsonValue | undefined): readonly string[] =>
    Array.isArray(value) ? value.map(text) : [];
  return {
    path,
    requestId: text(inquiry["requestId"]),
    digest: text(inquiry["digest"]),
    messageKey: JSON.stringify([inquiry["sessionId"], inquiry["turnId"], inquiry["messageId"]]),
    principal: inquiry["principal"] === undefined ? undefined : text(inquiry["principal"]),
    callId: text(inquiry["callId"]),
    toolName: text(inquiry["toolName"]),
    sideEffects: text(inquiry["sideEffects"]),
    arguments: text(inquiry["arguments"]),
    projectedChanges: list(inquiry["projectedChanges"]),
    question: text(inquiry["question"]),
    grant: {
      sandbox: text(grant["sandbox"]),
      limits: (grant["limits"] ?? {}) as JsonObject,
      capabilities: (grant["capabilities"] ?? {}) as JsonObject,
    },
    choices: list(inquiry["choices"]),
    expiresAt: Number(inquiry["expiresAt"]),
  };
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function segment(value: string | undefined): string {
  return encodeURIComponent(value ?? "");
}
