import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFolder, type Outcome, sandgate } from "../sandgate.ts";

const CONFIRMATION = {
  requestId: "r",
  sessionId: "s",
  turnId: "t",
  messageId: "m",
  callId: "c1",
  toolName: "write_note",
  sideEffects: "write",
  arguments: "{}",
  projectedChanges: [],
  question: "?",
  digest: "d",
  grant: { sandbox: "host", limits: {}, capabilities: {} },
  choices: ["allow"],
  expiresAt: 1,
};
const LIST = JSON.stringify({ confirmations: [CONFIRMATION] });

/** Lists the confirmations of a server that responds as it likes: to the list, and to one confirmation. */
async function listing(
  list: string | ((response: ServerResponse) => void),
  confirmation: object = CONFIRMATION,
): Promise<Outcome> {
  const server = createServer(({ url }, response) => {
    if (url !== "/v1/confirmations") response.end(JSON.stringify(confirmation));
    else if (typeof list === "string") response.end(list);
    else list(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const folder = await createFolder({ token: "token-of-an-approver" });
  const { port } = server.address() as AddressInfo;
  return sandgate(["confirm", `http://127.0.0.1:${port}`, "--token-file", join(folder, "token")]);
}

test("lists what a server sends", async () => {
  expect(await listing(LIST)).toMatchObject({ code: 0, stdout: expect.stringContaining("'write_note'") });
});

test.each<[string, string | ((response: ServerResponse) => void), RegExp]>([
  ["not JSON", "<html>hello</html>", /not one of a Sandgate server/],
  ["half of the JSON", LIST.slice(0, 40), /not one of a Sandgate server/],
  ["another shape", "[]", /not one of a Sandgate server/],
  ["no list", "{}", /not one of a Sandgate server/],
  ["a list of nothing", '{"confirmations":[null]}', /not one of a Sandgate server/],
  [
    "another media type",
    (to) => to.setHeader("content-type", "text/html").end("hi"),
    /not one of a Sandgate/,
  ],
  [
    "a redirect",
    (to) => to.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    /cannot reach .*redirect/,
  ],
  [
    "a failure in HTML",
    (to) => to.writeHead(500).end("<html>"),
    /refused the request \(500\): .*not of a Sandgate/,
  ],
  [
    "a failure without an error",
    (to) => to.writeHead(500).end("{}"),
    /refused the request \(500\): .*not of a/,
  ],
  [
    "a failure of another shape",
    (to) => to.writeHead(500).end('{"error":[7]}'),
    /refused the request \(500\)/,
  ],
  [
    "half of the announced bytes",
    (to) => {
      to.writeHead(200, { "content-length": "1000" }).write("{", () => to.destroy());
    },
    /cannot reach/,
  ],
  [
    "more than 64 MiB",
    (to) => {
      const write = (): void => {
        while (!to.destroyed && to.write(" ".repeat(1_048_576)));
      };
      to.on("drain", write);
      write();
    },
    /longer than 64 MiB/,
  ],
])("a server that sends %s is reported, with exit code 2", async (_, list, message) => {
  const { code, stderr, stdout } = await listing(list);
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/SyntaxError|TypeError|\.ts:/);
  expect([code, stdout]).toEqual([2, ""]);
});

test.each([
  ["arguments that are not JSON", { arguments: "{" }],
  ["no arguments", { arguments: 7 }],
  ["no grant", { grant: null }],
  ["no time at which it expires", { expiresAt: "soon" }],
])("a confirmation with %s is not shown to a person", async (_, members) => {
  const { code, stderr } = await listing(LIST, { ...CONFIRMATION, ...members });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/not one of a Sandgate server/)]);
});
