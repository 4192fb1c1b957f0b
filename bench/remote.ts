import { fork } from "node:child_process";
import { once } from "node:events";
import { Pool } from "undici";
import type { Question } from "./measure.ts";
import { dispatchCase, INPUT, isInput } from "./setting.ts";

/** What does a remote call cost, beside undici sending the same bytes? The server is another process. */
export async function remote(): Promise<Question> {
  const server = fork(new URL("fixtures/echo-server.mjs", import.meta.url));
  const [port] = (await once(server, "message")) as [number];
  const pool = new Pool(`http://127.0.0.1:${port}`);
  const ours = await dispatchCase("dispatch of a remote tool", "remote", {
    remote: { url: `http://127.0.0.1:${port}/` },
  });
  return {
    name: "remote",
    floor: {
      name: "undici Pool.request + JSON both ways",
      run: async () => {
        const { body } = await pool.request({
          path: "/",
          method: "POST",
          headers: { "content-type": "application/json", accept: "application/json" },
          body: JSON.stringify({ id: "call", name: "echo", session: "bench", arguments: INPUT }),
        });
        return body.json();
      },
      check: isInput,
    },
    cases: [ours.case],
    close: async () => {
      await Promise.all([ours.close(), pool.close()]);
      server.kill();
    },
  };
}
