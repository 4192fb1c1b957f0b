import { describe, expect, test } from "vitest";
import { first, MANY, notify, receivingServer, TWO } from "./receiver.ts";

/** Every text in a message, with the objects that have it. */
function textsIn(value: unknown, above: object = {}): readonly { text: string; of: object }[] {
  if (typeof value === "string") return [{ text: value, of: above }];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((item) => textsIn(item, value));
}

async function sent(kind: "slack" | "teams", notification = TWO) {
  const { origin, received } = await receivingServer();
  await notify({ [kind]: { url: `${origin}/hook/secret` } }, notification);
  const { path, headers, body } = await first(received);
  expect(path).toBe("/hook/secret");
  expect(headers["content-type"]).toBe("application/json");
  return JSON.parse(body.toString());
}

describe("A message for Slack", () => {
  test("has tool, class, session and links, with foreign texts as plain text only", async () => {
    const message = await sent("slack");
    expect(message.text).toBe("2 calls wait for an answer");
    const plain = message.blocks.filter(
      (block: { text: { type: string } }) => block.text.type === "plain_text",
    );
    expect(plain[1].text.text).toBe("write_note (write) in the session s2");
    const marked = textsIn(message).filter(({ of }) => "type" in of && of.type === "mrkdwn");
    expect(marked.map(({ text }) => text).filter((text) => text !== "mrkdwn")).toEqual([
      "<https://console.example/console/#/waiting/r1|Read it and answer>",
    ]);
    for (const { text } of textsIn(message)) expect(text).not.toMatch(/[\r\u202e]/);
  });

  test("escapes what stands for it where blocks are not shown", async () => {
    const message = await sent("slack", { confirmations: TWO.confirmations.slice(0, 1) });
    expect(message.text).toContain("&lt;!channel&gt;");
    expect(message.text).not.toMatch(/[<>]/);
  });

  test("has no more blocks and characters than Slack takes", async () => {
    const { blocks } = await sent("slack", MANY);
    expect(blocks.length).toBeLessThanOrEqual(50);
    expect(JSON.stringify(blocks)).toContain("And 22 more.");
    for (const { text } of textsIn(blocks)) expect(text.length).toBeLessThanOrEqual(3_000);
  });
});

describe("A card for Teams", () => {
  test("has foreign texts in runs only, which have no Markdown", async () => {
    const message = await sent("teams");
    const [{ contentType, content }] = message.attachments;
    expect({ type: message.type, contentType }).toEqual({
      type: "message",
      contentType: "application/vnd.microsoft.card.adaptive",
    });
    expect(content).toMatchObject({ type: "AdaptiveCard", version: "1.4" });
    const foreign = textsIn(content).filter(({ text }) => /evil|channel/.test(text));
    expect(foreign.map(({ of }) => of)).toMatchObject([{ type: "TextRun" }, { type: "TextRun" }]);
    expect(textsIn(content).filter(({ of }) => "type" in of && of.type === "Action.OpenUrl")).not.toEqual([]);
    expect(content).not.toHaveProperty("msteams");
  });

  test("has less than the 28 KB that Teams takes", async () => {
    const message = await sent("teams", MANY);
    expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThan(28_000);
  });
});

describe("A message for ntfy", () => {
  test("is JSON with the topic, so that nothing foreign is in a header", async () => {
    const { origin, received } = await receivingServer();
    await notify({ ntfy: { url: origin, topic: "our-topic", token: "tk_secret" } }, TWO);
    const { path, headers, body } = await first(received);
    expect(path).toBe("/");
    expect(headers["authorization"]).toBe("Bearer tk_secret");
    const message = JSON.parse(body.toString());
    expect(message).toMatchObject({
      topic: "our-topic",
      title: "2 calls wait for an answer",
      markdown: false,
      click: "https://console.example/console/#/waiting",
    });
    expect(message.message).toContain("write_note (write) in the session s2");
    expect(Object.keys(headers).some((name) => /bcc|title|click|actions/.test(name))).toBe(false);
  });

  test("is not longer than what ntfy would make a file of", async () => {
    const { origin, received } = await receivingServer();
    await notify({ ntfy: { url: origin, topic: "our-topic" } }, MANY);
    const { message } = JSON.parse((await first(received)).body.toString());
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(4_096);
  });
});

test.each([
  302, 404, 500,
])("A webhook that answers %i has not accepted it, and is not followed", async (status) => {
  const { origin, received } = await receivingServer(status);
  await expect(notify({ slack: { url: `${origin}/secret` } }, TWO)).rejects.toThrow(`status ${status}`);
  expect(received.map(({ path }) => path)).toEqual(["/secret"]);
});
