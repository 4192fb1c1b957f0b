import { startServer } from "sandgate/server";
import type { OpenCase, Question } from "../harness/case.ts";
import { isEcho } from "../setting.ts";
import { CALL, openParts } from "./setting.ts";

/** A model answers a message of a user with a few messages of a few calls. */
const CALLS_PER_TURN = 16;

/** What it costs a call that a server keeps it for its console, while no page is open. */
export const consoleCalls: Question = {
  name: "console",
  cases: [
    { name: "a call of a session of a server", open: () => open(false) },
    { name: "a call of a session of a server with a console", open: () => open(true) },
  ],
};

async function open(hasConsole: boolean): Promise<OpenCase> {
  const parts = await openParts("read");
  const server = await startServer({
    ...parts,
    sessions: {},
    listen: "127.0.0.1:0",
    credentials: [{ id: "agent", token: "the-token-of-the-benchmark-00000000", roles: ["caller"] }],
    ...(hasConsole && { console: {} }),
  });
  const session = await server.sessions.open();
  let turn = session.turn();
  let count = 0;
  return {
    run: () => {
      if (++count % CALLS_PER_TURN === 0) turn = session.turn();
      return turn.dispatch(CALL);
    },
    check: isEcho,
    close: async () => {
      await server.close();
      await parts.sandboxes.close();
    },
  };
}
