import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { allow } from "../../../src/policy/policy.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { shellTools } from "../../../src/toolsets/shell-tools.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { agentSessions, run } from "./harness.ts";

test.skipIf(unavailable)(
  "the shell that an agent keeps is neither that of the session above nor shared with it",
  async () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-agents-")));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    const seen: unknown[] = [];
    const say = async (session: Session, command: string): Promise<void> => {
      const { output, error } = await run(session, "run_command", { command, persistent: true });
      seen.push(error ?? (output as { stdout: string }).stdout);
    };
    const { sessions } = await agentSessions(
      async ({ session }) => {
        await say(session, "echo $NAME; NAME=agent");
        await say(session, "echo $NAME");
        return "done";
      },
      {
        tools: shellTools({}),
        policy: {
          check: ({ tool: { name } }) =>
            name === "spawn_agent"
              ? allow({ sandbox: "host", capabilities: {} })
              : allow({ sandbox: "process", capabilities: { fs: [{ directory: root, write: true }] } }),
        },
        confirmations: { tools: { run_command: "auto" } },
      },
    );
    const session = await sessions.open({ workspace: root, mode: "autonomous" });
    await say(session, "NAME=session; echo $NAME");
    expect(await run(session, "spawn_agent", { prompt: "Run." })).toMatchObject({ output: "done" });
    await say(session, "echo $NAME");
    expect(seen).toEqual(["session\n", "\n", "agent\n", "session\n"]);
    await sessions.close();
  },
);
