import type { IncomingMessage } from "node:http";

const BASE_PATH = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/;

/** The syntax of a base path, for messages. */
export const BASE_PATH_FORM = "a path such as /tools, without a slash at the end";

/** Whether a text can be a base path. */
export function isBasePath(text: string): boolean {
  return text.length <= 256 && BASE_PATH.test(text);
}

/** Removes the base path from the target of a request, unless a proxy has removed it already. */
export function stripBasePath(request: IncomingMessage, basePath: string): void {
  const { url = "" } = request;
  if (basePath !== "" && url.startsWith(`${basePath}/`)) request.url = url.slice(basePath.length);
}
