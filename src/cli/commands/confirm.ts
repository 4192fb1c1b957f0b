import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { shown } from "../../rendering/shown.ts";
import { showAskedCall, shownId } from "../confirm/asked-call.ts";
import { showAskedQuestion } from "../confirm/asked-question.ts";
import { Dialogue } from "../confirm/dialogue.ts";
import { type Reply, ServerClient, type ServerInquiry } from "../confirm/server-client.ts";
import { UsageError } from "../errors.ts";
import { EXIT_INTERRUPTED, EXIT_OK, type ExitCode, print, type Terminal } from "../terminal/terminal.ts";

/** Options of `sandgate confirm`. */
interface ConfirmCommand {
  /** The server's. */
  readonly url: string;
  /** Default: the token is in the environment. */
  readonly tokenFile: string | undefined;
  /** Whether to wait for further inquiries. */
  readonly watch: boolean;
}

/** Milliseconds between two looks for new inquiries. */
const WATCH_MS = 1_000;

/**
 * Lists the open inquiries of a server, and has the person at the terminal answer them. Without a terminal, it only lists.
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
      const fresh = (await client.inquiries()).filter(({ requestId }) => !seen.has(requestId));
      for (const { requestId } of fresh) seen.add(requestId);
      if (fresh.length === 0 && !command.watch)
        await print(terminal.stderr, shown`there is nothing to confirm`);
      for (const inquiries of Map.groupBy(fresh, ({ messageKey }) => messageKey).values()) {
        await answer(client, dialogue, inquiries, terminal);
      }
      if (command.watch) await delay(WATCH_MS, undefined, signal && { signal });
    } while (command.watch);
  } catch (error) {
    if (!signal?.aborted) throw error;
  }
  return signal?.aborted ? EXIT_INTERRUPTED : EXIT_OK;
}

async function list(client: ServerClient, { stdout }: Terminal): Promise<ExitCode> {
  for (const inquiry of await client.inquiries()) {
    const { text } = inquiry.kind === "question" ? showAskedQuestion(inquiry) : showAskedCall(inquiry);
    await print(stdout, text);
  }
  return EXIT_OK;
}

async function answer(
  client: ServerClient,
  dialogue: Dialogue,
  inquiries: readonly ServerInquiry[],
  { stdout }: Terminal,
): Promise<void> {
  const tell = async (inquiry: ServerInquiry, reply: Reply): Promise<void> => {
    const outcome = await client.answer(inquiry, reply);
    await print(stdout, shown`call '${shownId(inquiry.callId)}' of '${inquiry.toolName}': ${outcome}`);
  };
  const calls = inquiries.filter((inquiry) => inquiry.kind === "call");
  if (calls.length > 0) await dialogue.ask(calls, tell);
  for (const question of inquiries) {
    if (question.kind !== "question") continue;
    const reply = await dialogue.askQuestion(question);
    if (reply === undefined) return;
    await tell(question, reply === "deny" ? { decision: reply } : { decision: "answer", ...reply });
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
