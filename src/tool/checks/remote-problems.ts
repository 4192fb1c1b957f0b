import { methodProblem } from "../../base/http-syntax.ts";
import { compileHeaders } from "../../http-template/header-template.ts";
import { parseHttpUrl } from "../../http-template/http-url.ts";
import { compileUrl, TemplateError } from "../../http-template/url-template.ts";
import { POINTER_PATTERN } from "../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { parseExecutors } from "../executor-address.ts";

const HTTP_MEMBERS: readonly string[] = ["method", "url", "headers", "body", "response", "maxRedirects"];
const POINTER = new RegExp(POINTER_PATTERN);
const MAX_REDIRECTS = 10;

/** Returns why a value is not a valid remote implementation, or `undefined` if it is. */
export function remoteProblem(given: unknown): string | undefined {
  if (!isJsonObject(given)) return "remote must be an object";
  const { url, http, web, executor } = given;
  const mcp: unknown = given["mcp"];
  if ([url, http, web, executor, mcp].filter((one) => one !== undefined).length > 1) {
    return "remote takes one of url, http, web, executor and mcp";
  }
  if (mcp !== undefined) return isHandle(mcp) ? undefined : "remote.mcp must be a handle from openMcp";
  if (web !== undefined) return webProblem(web);
  if (http !== undefined) return httpProblem(http);
  if (executor !== undefined) {
    const addresses = parseExecutors(executor);
    return typeof addresses === "string" ? `remote.${addresses}` : undefined;
  }
  const endpoint = parseHttpUrl(url);
  return typeof endpoint === "string" ? `remote.${endpoint}` : undefined;
}

function isHandle(given: unknown): boolean {
  if (typeof given !== "object" || given === null) return false;
  return ["call", "toJSON"].every((method) => typeof Reflect.get(given, method) === "function");
}

function webProblem(given: JsonValue): string | undefined {
  const { method, ...others } = isJsonObject(given) ? given : {};
  const isKnown = method === "GET" || method === "POST";
  return isKnown && Object.keys(others).length === 0
    ? undefined
    : "remote.web must be { method: GET or POST }";
}

function httpProblem(given: unknown): string | undefined {
  if (!isJsonObject(given)) return "remote.http must be an object";
  const unknown = Object.keys(given).find((name) => !HTTP_MEMBERS.includes(name));
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
  const { pointer, text, bigNumbers, ...others } = response;
  if (Object.keys(others).length > 0) return "remote.http.response takes only pointer, text and bigNumbers";
  if (pointer !== undefined && (typeof pointer !== "string" || !POINTER.test(pointer))) {
    return "remote.http.response.pointer must be a JSON pointer, such as /data/items";
  }
  if (text !== undefined && typeof text !== "boolean")
    return "remote.http.response.text must be true or false";
  if (bigNumbers !== undefined && bigNumbers !== "refuse" && bigNumbers !== "string") {
    return 'remote.http.response.bigNumbers must be "refuse" or "string"';
  }
  if (text && pointer !== undefined) return "remote.http.response takes either a pointer or text";
  return undefined;
}
