import { spawn } from "node:child_process";

/** What receives texts outside this process: a program or a server. */
export type Receiver =
  | {
      /** A program and its arguments, without a shell. It receives each text on its standard input. */ readonly command: readonly string[];
    }
  | { /** Receives each text in a `POST` request. */ readonly url: string };

/** Options of {@link sendTo}. */
export interface SendOptions {
  /** Milliseconds after which the program is killed, or the request is aborted. */
  readonly timeoutMs: number;
  /** Of the request. */
  readonly mediaType: string;
  /** Kills the program, or aborts the request. */
  readonly signal?: AbortSignal;
}

/**
 * Returns a copy of a receiver.
 *
 * @param what Names the receiver in the error.
 * @throws {TypeError} if it is not valid.
 */
export function checkReceiver(receiver: Receiver, what: string): Receiver {
  if ("command" in receiver) {
    const { command } = receiver;
    if (
      !Array.isArray(command) ||
      command.length === 0 ||
      !command.every((word) => typeof word === "string")
    ) {
      throw new TypeError(`${what}'s command must be a list of a program and its arguments`);
    }
    return { command: [...command] };
  }
  const url = URL.parse(String(receiver.url));
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    throw new TypeError(`${what}'s url must be an http or https URL`);
  }
  return { url: url.href };
}

/** Returns the program or the origin of a receiver: its arguments and its path may contain secrets. */
export function receiverName(receiver: Receiver): string {
  return "url" in receiver ? new URL(receiver.url).origin : (receiver.command[0] ?? "");
}

/** Sends a text. Rejects unless the program ends with code 0, or the response has a success status. */
export function sendTo(receiver: Receiver, text: string, options: SendOptions): Promise<void> {
  return "url" in receiver ? post(receiver.url, text, options) : pipe(receiver.command, text, options);
}

async function post(url: string, body: string, { timeoutMs, mediaType, signal }: SendOptions): Promise<void> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": mediaType },
    body,
    redirect: "error",
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`it answered with status ${response.status}`);
}

function pipe(
  [program = "", ...args]: readonly string[],
  input: string,
  { timeoutMs, signal }: SendOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["pipe", "ignore", "ignore"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      ...(signal && { signal }),
    });
    child.on("error", reject);
    // A program may end without reading its input: its exit code says whether it failed.
    child.stdin.on("error", () => {});
    child.on("exit", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`it ended with ${signal ?? `exit code ${code}`}`));
    });
    child.stdin.end(input);
  });
}
