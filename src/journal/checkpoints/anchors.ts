import { spawn } from "node:child_process";

/** Where checkpoints are copied: away from the machine, so that those who can change the journal cannot change them. */
export type Anchor =
  | {
      /** A program and its arguments. It receives each checkpoint on its standard input. */ readonly command: readonly string[];
    }
  | { /** Receives each checkpoint in a `POST` request. */ readonly url: string };

const TIMEOUT_MS = 10_000;
const RETRY_MS = 10_000;

/** @throws {TypeError} if an anchor is not valid. */
export function checkAnchors(anchors: readonly Anchor[]): readonly Anchor[] {
  return anchors.map((anchor) => {
    if ("command" in anchor) {
      const { command } = anchor;
      if (
        !Array.isArray(command) ||
        command.length === 0 ||
        !command.every((word) => typeof word === "string")
      ) {
        throw new TypeError("an anchor's command must be a list of a program and its arguments");
      }
      return { command: [...command] };
    }
    const url = URL.parse(String(anchor.url));
    if (url?.protocol !== "https:" && url?.protocol !== "http:") {
      throw new TypeError("an anchor's url must be an http or https URL");
    }
    return { url: url.href };
  });
}

/**
 * Copies checkpoints to anchors, one after the other. An anchor that is slow or fails receives the newest checkpoint
 * next, which covers those before it.
 */
export class Anchors implements AsyncDisposable {
  readonly #lines: readonly AnchorLine[];

  /** @param onFailed Is told each time that an anchor did not take a checkpoint. */
  constructor(anchors: readonly Anchor[], onFailed: (reason: string) => void) {
    this.#lines = anchors.map((anchor) => new AnchorLine(anchor, onFailed));
  }

  copy(note: string): void {
    for (const line of this.#lines) line.copy(note);
  }

  /** Waits until each anchor has the last checkpoint, or has failed to take it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#lines.map((line) => line[Symbol.asyncDispose]()));
  }
}

class AnchorLine implements AsyncDisposable {
  readonly #anchor: Anchor;
  readonly #onFailed: (reason: string) => void;
  #newest: string | undefined;
  #sending: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor(anchor: Anchor, onFailed: (reason: string) => void) {
    this.#anchor = anchor;
    this.#onFailed = onFailed;
  }

  copy(note: string): void {
    this.#newest = note;
    if (this.#retry === undefined) this.#sending ??= this.#sendAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#retry);
    await this.#sending;
    if (this.#newest !== undefined) await this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    while (this.#newest !== undefined) {
      const note = this.#newest;
      this.#newest = undefined;
      try {
        await send(this.#anchor, note);
      } catch (error) {
        this.#onFailed(`${nameOf(this.#anchor)}: ${(error as Error).message}`);
        this.#newest ??= note;
        this.#retryLater();
        break;
      }
    }
    this.#sending = undefined;
  }

  #retryLater(): void {
    if (this.#isClosing) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#sending ??= this.#sendAll();
    }, RETRY_MS).unref();
  }
}

function nameOf(anchor: Anchor): string {
  return "url" in anchor ? new URL(anchor.url).origin : (anchor.command[0] ?? "");
}

function send(anchor: Anchor, note: string): Promise<void> {
  return "url" in anchor ? post(anchor.url, note) : pipe(anchor.command, note);
}

async function post(url: string, body: string): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "text/plain; charset=utf-8" },
    body,
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`it answered with status ${response.status}`);
}

function pipe([program = "", ...args]: readonly string[], input: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["pipe", "ignore", "ignore"],
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    child.on("error", reject);
    // A program that ends without reading its input says by its exit code whether that is a failure.
    child.stdin.on("error", () => {});
    child.on("exit", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`it ended with ${signal ?? `exit code ${code}`}`));
    });
    child.stdin.end(input);
  });
}
