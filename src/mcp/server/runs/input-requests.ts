import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { compileSchema } from "../../../schema/compiled-schema.ts";

/** What a tool, a resource or a prompt asks of the client: a request of MCP, as a member of `inputRequests`. */
export interface McpInputRequest {
  /** The last two are deprecated by MCP 2026-07-28. */
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  /** The parameters, as the specification of the method has them. Default: `{}`. */
  readonly params?: JsonObject;
}

/** The capabilities that a client declared, by name. Anything, since a client can declare anything. */
export type ClientCapabilities = Readonly<Record<string, unknown>>;

/** The name of the capability that each method needs. */
const CAPABILITIES = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
} as const;

/** Words in the names of fields that a form must not have: it goes through a program, and through what that logs. */
export const SECRET_WORDS: RegExp =
  /pass(?:word|code|phrase)|secret|token|api.?key|private.?key|credential|\bpin\b|\bcvv\b/i;

const PAGE: McpInputRequest = { method: "elicitation/create", params: { mode: "url" } };

/** The capability that a client needs to answer a request, if it did not declare it. */
export function missingCapability(
  { method, params }: McpInputRequest,
  capabilities: ClientCapabilities,
): JsonObject | undefined {
  const name = CAPABILITIES[method];
  const declared = capabilities[name];
  if (!isJsonObject(declared)) return { [name]: {} };
  if (method !== "elicitation/create") return undefined;
  const mode = params?.["mode"] === "url" ? "url" : "form";
  // An empty object means forms, as before there were modes.
  const has = declared[mode] !== undefined || (mode === "form" && declared["url"] === undefined);
  return has ? undefined : { elicitation: { [mode]: {} } };
}

/** Whether a client can send a person to an address. */
export function showsPages(capabilities: ClientCapabilities): boolean {
  return missingCapability(PAGE, capabilities) === undefined;
}

/** Whether a client can show forms to a person. */
export function showsForms(capabilities: ClientCapabilities): boolean {
  return missingCapability({ method: "elicitation/create" }, capabilities) === undefined;
}

/**
 * Checks a request before it is sent.
 *
 * @throws {TypeError} if it is malformed, or a form asks for a secret.
 */
export function checkInputRequest(key: string, { method, params }: McpInputRequest): void {
  if (!Object.hasOwn(CAPABILITIES, method))
    throw new TypeError(`the method of the request '${key}' is unknown`);
  if (params !== undefined && !isJsonObject(params)) {
    throw new TypeError(`the params of the request '${key}' must be an object`);
  }
  if (method !== "elicitation/create" || params?.["mode"] === "url") return;
  const schema = params?.["requestedSchema"];
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) {
    throw new TypeError(`the form '${key}' must have a requestedSchema with properties`);
  }
  for (const [name, field] of Object.entries(schema["properties"])) {
    const title = isJsonObject(field) ? field["title"] : undefined;
    const format = isJsonObject(field) ? field["format"] : undefined;
    const words = typeof title === "string" ? `${name} ${title}` : name;
    if (format === "password" || SECRET_WORDS.test(words)) {
      throw new TypeError(`the form '${key}' must not ask for a secret: '${name}'`);
    }
  }
  // Throws for what could match no answer.
  compileSchema(schema);
}

/** Whether a client's response to a request has the form that the method prescribes. */
export function acceptsResponse(
  { method, params }: McpInputRequest,
  response: JsonValue | undefined,
): boolean {
  if (!isJsonObject(response)) return false;
  if (method === "roots/list") return Array.isArray(response["roots"]);
  if (method === "sampling/createMessage") return "role" in response && "content" in response;
  const { action, content = {} } = response;
  if (action === "decline" || action === "cancel") return true;
  if (action !== "accept") return false;
  return params?.["mode"] === "url" || matchesForm(params?.["requestedSchema"], content);
}

function matchesForm(schema: JsonValue | undefined, content: JsonValue): boolean {
  return isJsonObject(schema) && compileSchema(schema).validate(content) === undefined;
}
