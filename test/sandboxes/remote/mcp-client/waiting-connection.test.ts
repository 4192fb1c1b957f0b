import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const connection = new URL("../../../../src/sandboxes/remote/mcp-client/connection.ts", import.meta.url).href;

/** Connects to a server that is down, which is tried again after a pause. Nothing else keeps the process running. */
const SCRIPT = `
  import { McpConnection } from ${JSON.stringify(connection)};
  let attempts = 0;
  const open = async () => {
    throw new Error("attempt " + ++attempts);
  };
  const connection = new McpConnection({ name: "down", open });
  const say = (error) => console.log(error.message);
  await connection.wire().catch(say);
`;

async function play(code: string): Promise<string> {
  const args = ["--no-warnings", "--input-type=module", "--eval", SCRIPT + code];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout;
}

test("a process that waits for a server during the pause before the next attempt stays alive", async () => {
  const said = await play(`
    await new Promise((resolve) => setImmediate(resolve));
    await connection.listTools().catch(say);
    await connection.close();
  `);
  expect(said).toBe(
    "the server cannot be connected to: attempt 1\nthe server cannot be connected to: attempt 2\n",
  );
});

test("a process that waits for nothing does not wait for the next attempt", async () => {
  expect(await play("")).toBe("the server cannot be connected to: attempt 1\n");
});
