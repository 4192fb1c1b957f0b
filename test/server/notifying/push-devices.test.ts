import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Notify } from "../../../src/server/notifying/notify.ts";
import { startConsole } from "../console/console.ts";
import { type ClientName, refusalOf, TestClient, WritingTool } from "../harness.ts";
import { SubscribedBrowser, vapidKey } from "./push-browser.ts";
import { receivingServer } from "./receiver.ts";

const PATH = "/v1/console/push";

/** A server that notifies the browsers of approvers, and its push service. */
async function scene({ status = 201, devices = newFile() } = {}) {
  const { origin, received } = await receivingServer(status);
  const { key, point } = vapidKey();
  const webPush = { key, contact: "mailto:ops@example.com", devices, services: [origin] };
  const notify: Notify = { webPush, consoleUrl: "https://console.example" };
  const server = await startConsole([new WritingTool().tool], { sessions: { notify } });
  /** Has a browser of a person subscribe. */
  const subscribe = async (name: ClientName, path: string) => {
    const browser = new SubscribedBrowser();
    const subscription = browser.subscription(`${origin}${path}`);
    return { browser, answer: await new TestClient(server, name).send("POST", PATH, subscription) };
  };
  const ask = async (name: ClientName): Promise<void> => {
    const caller = new TestClient(server, name);
    const call = { id: "c1", name: "write_note", arguments: { text: "hi" } };
    await caller.dispatch(await caller.open({ name: `the session of ${name}` }), [call]);
  };
  return { server, origin, received, point, devices, subscribe, ask };
}

function newFile(): string {
  return join(mkdtempSync(join(tmpdir(), "push-")), "devices.json");
}

describe("A browser in which an approver subscribed", () => {
  test("gets what this approver may answer, even after a restart, and nothing once it is removed", async () => {
    const first = await scene();
    const key = await new TestClient(first.server, "carol").json("GET", PATH);
    expect(key).toEqual({ publicKey: first.point.toString("base64url") });
    const { browser, answer } = await first.subscribe("carol", "/carol");
    expect(answer.status).toBe(204);
    await first.subscribe("mallory", "/mallory");
    await first.ask("alice");
    await expect.poll(() => first.received.map(({ path }) => path), { timeout: 20_000 }).toEqual(["/carol"]);
    expect(browser.decrypt(first.received[0]?.body ?? Buffer.of())).toMatchObject({
      title: "write_note waits for an answer",
      body: expect.stringContaining("in the session the session of alice"),
      link: expect.stringMatching(/^https:\/\/console\.example\/console\/#\/waiting\/\w+$/),
    });
    expect(statSync(first.devices).mode & 0o077).toBe(0);
    const second = await scene({ devices: first.devices });
    const endpoint = `${first.origin}/carol`;
    const removed = await new TestClient(second.server, "carol").send("DELETE", PATH, { endpoint });
    expect(removed.status).toBe(204);
    expect(readFileSync(first.devices, "utf8")).not.toContain("/carol");
  });

  test("is forgotten when its push service does not know it any more", async () => {
    const { subscribe, ask, received, devices } = await scene({ status: 410 });
    await subscribe("carol", "/gone");
    await ask("alice");
    await expect.poll(() => received.length, { timeout: 20_000 }).toBe(1);
    await expect.poll(() => readFileSync(devices, "utf8"), { timeout: 20_000 }).toBe("[]\n");
  });

  test("is one of ten of a person, and belongs to who subscribed in it last", async () => {
    const { subscribe, devices } = await scene();
    for (let at = 0; at < 11; at++) await subscribe("carol", `/${at}`);
    await subscribe("dave", "/10");
    const found = JSON.parse(readFileSync(devices, "utf8")) as { by: string; endpoint: string }[];
    expect(found.map(({ by, endpoint }) => `${by} ${endpoint.split("/").at(-1)}`)).toEqual([
      ...Array.from({ length: 9 }, (_, at) => `carol ${at + 1}`),
      "dave 10",
    ]);
  });
});

describe("Subscribing", () => {
  test("is for approvers only, with what a browser returns and a known push service", async () => {
    const { server, subscribe, origin } = await scene();
    for (const name of ["alice", "erin"] as const)
      expect(refusalOf((await subscribe(name, "/x")).answer)).toBe("403 forbidden");
    const carol = new TestClient(server, "carol");
    const { keys } = new SubscribedBrowser().subscription(origin);
    const wrong = ["http://127.0.0.1:1/x", "file:///etc/passwd", `${origin}.evil.example/x`, "x"];
    for (const endpoint of wrong)
      expect(refusalOf(await carol.send("POST", PATH, { endpoint, keys }))).toBe("400 bad_request");
    const short = { endpoint: `${origin}/x`, keys: { ...keys, auth: "AA" } };
    expect(refusalOf(await carol.send("POST", PATH, short))).toBe("400 bad_request");
  });

  test("is not offered by a server without a file for it", async () => {
    const server = await startConsole();
    expect(refusalOf(await new TestClient(server, "carol").send("GET", PATH))).toBe("404 not_found");
  });

  test("does not begin with a file that has something else", async () => {
    const devices = newFile();
    writeFileSync(devices, '[{"endpoint":"https://push.example.com"}]');
    await expect(scene({ devices })).rejects.toThrow("the file of notify.webPush.devices cannot be read");
  });
});
