import { methodProblem } from "../egress/request-check.ts";
import { compileHeaders } from "../http-template/header-template.ts";
import { compileUrl } from "../http-template/url-template.ts";
import { isJsonObject, type JsonValue } from "../json/value.ts";
import { POINTER_PATTERN } from "../policy/json-pointer.ts";
import { TemplateError } from "../sandboxes/remote/template-error.ts";

/**
 * Any HTTP endpoint as a tool. The grant must name the endpoint's origin (`net`) and every secret (`secrets`).
 * See docs/http-tools.md.
 */
export interface HttpImplementation {
  /** In upper case. Default: `GET`. */
  readonly method?: string;
  /**
   * A URI template (RFC 6570) over the arguments: `https://api.example.com/users/{user}{?page}`. Scheme, host
   * and port are fixed.
   */
  readonly url: string;
  /** Values in which `{name}` stands for an argument and `{secret:NAME}` for a secret. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The body as JSON, in which a string that is `{name}` stands for that argument. Default: for POST, PUT and
   * PATCH the arguments that the URL and the headers do not use; for other methods none.
   */
  readonly body?: JsonValue;
  readonly response?: HttpResponseRules;
  /** How many redirects are followed, to origins of the grant only. Default: 0, so that one is a failure. */
  readonly maxRedirects?: number;
}

/** How a response becomes an output. Default: the body as JSON. */
export interface HttpResponseRules {
  /** A JSON pointer (RFC 6901) to the part of the body that is the output. */
  readonly pointer?: string;
  /** Whether the body is text; the output is then a string. */
  readonly text?: boolean;
}

const MEMBERS: readonly string[] = ["method", "url", "headers", "body", "response", "maxRedirects"];
const POINTER = new RegExp(POINTER_PATTERN);
const MAX_REDIRECTS = 10;

/** What is wrong with an HTTP implementation, whatever it is, or `undefined`. */
export function httpProblem(given: unknown): string | undefined {
  if (!isJsonObject(given)) return "remote.http must be an object";
  const unknown = Object.keys(given).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) return `remote.http has an unknown member '${unknown}'`;
  const { method = "GET", url, headers = {}, response = {}, maxRedirects = 0 } = given;
  const isCount = Number.isInteger(maxRedirects) && Number(maxRedirects) >= 0;
  if (!isCount || Number(maxRedirects) > MAX_REDIRECTS) {
    return `remote.http.maxRedirects must be a number from 0 to ${MAX_REDIRECTS}`;
  }
  try {
    const problem = typeof method === "string" ? methodProblem(method) : "the method must be a string";
    if (problem !== undefined) return `remote.http.method: ${problem}`;
    compileUrl(url);
    compileHeaders(headers);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return `remote.http.${error.message}`;
  }
  return responseProblem(response);
}

function responseProblem(response: JsonValue): string | undefined {
  if (!isJsonObject(response)) return "remote.http.response must be an object";
  const { pointer, text, ...others } = response;
  if (Object.keys(others).length > 0) return "remote.http.response takes only pointer and text";
  if (pointer !== undefined && (typeof pointer !== "string" || !POINTER.test(pointer))) {
    return "remote.http.response.pointer must be a JSON pointer, such as /data/items";
  }
  if (text !== undefined && typeof text !== "boolean")
    return "remote.http.response.text must be true or false";
  if (text && pointer !== undefined) return "remote.http.response takes either a pointer or text";
  return undefined;
}
