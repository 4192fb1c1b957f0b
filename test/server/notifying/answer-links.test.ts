import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { Browser, startConsole } from "../console/console.ts";
import { begin, CREDENTIALS, refusalOf, TestClient, WritingTool } from "../harness.ts";
import { first, receivingServer } from "./receiver.ts";

/** A server that sends links which answer in the name of a person. */
async function scene(approver = "carol") {
  const { origin, received } = await receivingServer();
  const notes = new WritingTool();
  const wiped = new WritingTool("wipe", { sideEffects: "destructive" });
  const notify = { url: origin, consoleUrl: "https://console.example", links: "answer", approver } as const;
  const server = await startConsole([notes.tool, wiped.tool], { sessions: { notify } });
  const alice = new TestClient(server, "alice");
  /** Makes a call in a session of its own, and returns the link of the only confirmation that people are told of. */
  const ask = async (name = "write_note") => {
    received.length = 0;
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [{ id: "c1", name, arguments: { text: "hi" } }]);
    const { confirmations } = JSON.parse((await first(received)).body.toString());
    const link: string = confirmations[0].link;
    return { link, token: link.split("/").at(-1) ?? "", ended: () => alice.executions(session, turnId) };
  };
  const use = (body: object) => new Browser(server).send("POST", "/v1/console/answer-link", { body });
  return { server, notes, ask, use };
}

describe("A link that answers", () => {
  test("shows the call, and allows it once, in the name of its approver", async () => {
    const { notes, ask, use } = await scene();
    const { link, token, ended } = await ask();
    expect(link).toMatch(/^https:\/\/console\.example\/console\/#\/answer\/[\w-]{43}$/);
    const shown = await use({ token });
    expect(JSON.parse(shown.text)).toMatchObject({
      toolName: "write_note",
      arguments: '{"text":"hi"}',
      approver: "carol",
      choices: ["allow", "deny"],
    });
    expect(notes.inputs).toEqual([]);
    expect((await use({ token, decision: "allow" })).status).toBe(200);
    expect(await ended()).toMatchObject([{ success: true, confirmation: { by: "carol" } }]);
    expect(refusalOf(await use({ token, decision: "deny" }))).toBe("410 gone");
    expect(refusalOf(await use({ token }))).toBe("410 gone");
  });

  test("denies with a reason that the model reads, and remembers nothing", async () => {
    const { ask, use, notes } = await scene();
    const { token, ended } = await ask();
    for (const decision of ["always", "answer"])
      expect(refusalOf(await use({ token, decision }))).toBe("400 bad_request");
    expect((await use({ token, decision: "deny", reason: "Not now" })).status).toBe(200);
    expect((await ended())[0]?.error?.message).toContain("Not now");
    expect(notes.inputs).toEqual([]);
  });

  test("is never one for a destructive call, whose link only leads to the page", async () => {
    const { ask } = await scene();
    expect((await ask("wipe")).link).toMatch(/^https:\/\/console\.example\/console\/#\/waiting\/\w+$/);
  });

  test("works for the page of the console only, and not after another answer", async () => {
    const { server, ask, use } = await scene();
    const { token } = await ask();
    const browser = new Browser(server);
    for (const origin of ["https://evil.example", "null"]) {
      const answer = await browser.send("POST", "/v1/console/answer-link", {
        body: { token, decision: "allow" },
        headers: { origin },
      });
      expect(answer.status).toBeGreaterThanOrEqual(400);
    }
    const dave = new TestClient(server, "dave");
    for (const confirmation of await dave.confirmations())
      await dave.answer(confirmation, { decision: "deny" });
    expect(refusalOf(await use({ token, decision: "allow" }))).toBe("410 gone");
  });

  test("answers nothing in the name of somebody who may not, also since a reload", async () => {
    const wrong = await scene("mallory");
    expect(refusalOf(await wrong.use({ token: (await wrong.ask()).token }))).toBe("403 forbidden");
    const { server, ask, use } = await scene();
    const { token } = await ask();
    const credentials = CREDENTIALS.filter(({ id }) => id !== "carol");
    server.reload({ registry: new ToolRegistry(), policy: new HostPolicy(), credentials });
    expect(refusalOf(await use({ token, decision: "allow" }))).toBe("403 forbidden");
  });

  test("answers nothing if its approver is gone when the end of the request arrives", async () => {
    const { server, ask, notes } = await scene();
    const { token } = await ask();
    const { origin } = new Browser(server);
    const body = JSON.stringify({ token, decision: "allow" });
    const begun = await begin(server, "/v1/console/answer-link", body, { origin });
    const credentials = CREDENTIALS.filter(({ id }) => id !== "carol");
    server.reload({ registry: new ToolRegistry(), policy: new HostPolicy(), credentials });
    expect(refusalOf(await begun.finish())).toBe("403 forbidden");
    expect(notes.inputs).toEqual([]);
  });

  test("cannot be guessed many times from one address", async () => {
    const { use } = await scene();
    const refusals: string[] = [];
    for (let at = 0; at < 21; at++) refusals.push(refusalOf(await use({ token: "x".repeat(43) })));
    expect(refusals).toEqual([...Array<string>(20).fill("410 gone"), "429 overloaded"]);
  });
});

test("A server whose notifications have no such links knows none", async () => {
  const server = await startConsole();
  const use = new Browser(server).send("POST", "/v1/console/answer-link", { body: { token: "x" } });
  expect(refusalOf(await use)).toBe("410 gone");
});
