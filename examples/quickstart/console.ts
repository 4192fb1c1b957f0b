import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RuntimePolicy, Sandboxes, ToolCall, ToolRegistry } from "sandgate";
import { JournalHistory, openJournal } from "sandgate/journal";
import { startServer } from "sandgate/server";

/** What the calls of the console run with. */
interface ConsoleParts {
  readonly registry: ToolRegistry;
  readonly policy: RuntimePolicy;
  readonly sandboxes: Sandboxes;
}

/**
 * Serves a console, makes calls in a session, and records them in a temporary folder.
 *
 * @returns the address of the console, with a token that works once, and what closes it all.
 */
export async function serveConsole(
  parts: ConsoleParts,
  calls: readonly ToolCall[],
): Promise<{ readonly link: string; close(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), "sandgate-quickstart-"));
  const journal = await openJournal({ directory });
  const server = await startServer({
    ...parts,
    listen: "127.0.0.1:0",
    credentials: [],
    sessions: {},
    journal,
    history: new JournalHistory(journal, directory),
    console: { operator: { id: "you", roles: ["admin", "approver"], approves: ["*"] } },
  });
  const session = await server.sessions.open({ principal: { id: "quickstart", kind: "agent" } });
  const results = session.turn().dispatchAll(calls);
  return {
    link: `http://${server.address}/console/#token=${server.issueConsoleToken()}`,
    close: async () => {
      await server.close();
      await results;
      await journal.close();
      rmSync(directory, { recursive: true });
    },
  };
}
