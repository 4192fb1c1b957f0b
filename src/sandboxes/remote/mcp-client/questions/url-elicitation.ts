import { isJsonObject, type JsonObject } from "../../../../json/value.ts";
import type { OpenCall } from "./open-calls.ts";

/** The code of a call that needs a person to open a page first. It exists in 2025-11-25 only. */
const URL_ELICITATION_REQUIRED = -32_042;

/** How often a call is sent again after a person opened a page. */
const MAX_ROUNDS = 3;

/** How many pages one error names. */
const MAX_PAGES = 8;

/**
 * Sends a request, and has the client of the call open the pages that the server wants opened first. The server has not run the
 * call then, so that it can be sent again.
 *
 * @throws what `send` throws, also if the client cannot show the page or the person does not want to open it.
 */
export async function withPages<T>(send: () => Promise<T>, { link, signal }: OpenCall): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await send();
    } catch (error) {
      const pages = pagesOf(error);
      if (link === undefined || pages === undefined || round > MAX_ROUNDS || signal.aborted) throw error;
      const asked = pages.map((params, index) =>
        link
          .ask(`page_${index + 1}`, { method: "elicitation/create", params }, signal)
          .catch(() => undefined),
      );
      const answers = await Promise.all(asked);
      if (!answers.every((answer) => answer?.["action"] === "accept")) throw error;
    }
  }
}

function pagesOf(error: unknown): readonly JsonObject[] | undefined {
  if (!(error instanceof Error) || !("code" in error) || error.code !== URL_ELICITATION_REQUIRED)
    return undefined;
  const elicitations = "data" in error && isJsonObject(error.data as never) ? pagesIn(error.data) : undefined;
  return Array.isArray(elicitations) && elicitations.length > 0 && elicitations.length <= MAX_PAGES
    ? elicitations.filter((page) => isJsonObject(page)).map((page) => ({ ...page, mode: "url" }))
    : undefined;
}

function pagesIn(data: unknown): unknown {
  return (data as JsonObject)["elicitations"];
}
