import { type Signal, signal } from "@preact/signals";
import { type AnswerTo, type Inputs, type Route, requestTo } from "../../shapes/client.ts";

/** Whether the server knows the browser; `undefined` before the first response. */
export const isSignedIn: Signal<boolean | undefined> = signal(undefined);

/** What the server refused. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The status of HTTP; 0 if there was no response. */
  readonly status: number;
  /** Such as `forbidden`, of the API; `unreachable` if there was no response. */
  readonly code: string;
  /** The members of the body besides `error`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    code: string,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/**
 * Sends a request to the server that the page is from, with its cookie, and returns the body of the response.
 *
 * @throws {ApiError} if the server refuses, or does not answer. After a 401, {@link isSignedIn} is `false`.
 */
export async function send<Of extends Route>(route: Of, ...inputs: Inputs<Of>): Promise<AnswerTo<Of>> {
  const { method, path, body } = requestTo(route, ...inputs);
  const response = await fetch(path, {
    method,
    credentials: "same-origin",
    redirect: "error",
    cache: "no-store",
    ...(body !== undefined && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  }).catch(() => {
    throw new ApiError(0, "unreachable", "The server does not answer.");
  });
  const content = parse(await response.text());
  if (response.ok) return content as AnswerTo<Of>;
  if (response.status === 401) isSignedIn.value = false;
  const { error, ...details } = (content ?? {}) as { error?: { code?: string; message?: string } };
  const { code = "failed", message = `The server answered with the status ${response.status}.` } =
    error ?? {};
  throw new ApiError(response.status, code, message, details);
}

function parse(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How often a read is retried if the server is too busy: a page can send more requests than it serves at once. */
const MAX_RETRIES = 5;
const BUSY_MS = 300;

/** Sends a request that only reads, more than once if the server is too busy. */
export async function get<Of extends Extract<Route, `GET ${string}`>>(
  route: Of,
  ...inputs: Inputs<Of>
): Promise<AnswerTo<Of>> {
  for (let retries = 0; ; retries++) {
    try {
      return await send(route, ...inputs);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429 || retries === MAX_RETRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, BUSY_MS * (retries + 1)));
    }
  }
}

/** The text of a failure for people. */
export function messageOf(error: unknown): string {
  return error instanceof ApiError ? error.message : "The page failed. Load it again.";
}

const RETRY_MS = 3_000;

/** Retries something after a delay, unless the person has to log in first. */
export function retryLater(again: () => Promise<void>): void {
  setTimeout(() => {
    if (isSignedIn.peek() === true) void again();
  }, RETRY_MS);
}

/**
 * Returns a function that reads something, and tries again later if that fails. A call while it reads makes
 * it read once more.
 *
 * @param problem Why it could not be read; `""` if it could.
 * @param onDone Called when nothing is left to read.
 */
export function rereading(
  read: () => Promise<void>,
  problem: Signal<string>,
  onDone?: () => void,
): () => Promise<void> {
  let isReading = false;
  let isOutdated = false;
  const reread = async (): Promise<void> => {
    isOutdated = true;
    if (isReading) return;
    isReading = true;
    try {
      while (isOutdated) {
        isOutdated = false;
        await read();
        problem.value = "";
      }
      onDone?.();
    } catch (error) {
      problem.value = messageOf(error);
      retryLater(reread);
    } finally {
      isReading = false;
    }
  };
  return reread;
}
