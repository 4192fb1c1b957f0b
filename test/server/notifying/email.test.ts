import { afterAll, describe, expect, test } from "vitest";
import { Authority } from "../../certificates.ts";
import { MailServer, type MailServerOptions } from "./mail-server.ts";
import { first, HOSTILE, notify, TWO } from "./receiver.ts";

const authority = new Authority();
const tls = authority.issue();
const ADDRESSES = { from: "sandgate@example.com", to: ["ann@example.com", "bob@example.com"] };

afterAll(() => authority[Symbol.dispose]());

async function start(options: MailServerOptions = {}): Promise<MailServer> {
  return new MailServer(options).start();
}

/** Headers by their names in lower case, and the body, decoded. */
function read(text: string): { readonly headers: ReadonlyMap<string, string>; readonly body: string } {
  const [head = "", ...body] = text.split("\r\n\r\n");
  const lines = head.replace(/\r\n[ \t]+/g, " ").split("\r\n");
  const headers = lines
    .map((line) => /^([\w-]+): (.*)$/.exec(line))
    .map((match) => [match?.[1]?.toLowerCase() ?? "", match?.[2] ?? ""] as const);
  return { headers: new Map(headers), body: Buffer.from(body.join("\r\n\r\n"), "base64").toString() };
}

describe("A mail", () => {
  test("goes to every recipient, with tool, class, session and links", async () => {
    const server = await start();
    await notify({ email: { server: `smtp://127.0.0.1:${server.port}`, ...ADDRESSES } }, TWO);
    const mail = await first(server.mails);
    expect(mail).toMatchObject({
      from: "FROM:<sandgate@example.com>",
      login: undefined,
      to: ["TO:<ann@example.com>", "TO:<bob@example.com>"],
    });
    const { headers, body } = read(mail.text);
    expect(headers.get("to")).toBe("ann@example.com, bob@example.com");
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(body).toContain("write_note (write) in the session s2");
    expect(body).toContain("https://console.example/console/#/waiting/r1");
  });

  test("has no header, line or command of a hostile tool's", async () => {
    const server = await start();
    const confirmations = [
      { ...TWO.confirmations[0], toolName: `${HOSTILE}\r\n.\r\nMAIL FROM:<eve@evil.example>` },
    ];
    await notify({ email: { server: `smtp://127.0.0.1:${server.port}`, ...ADDRESSES } }, {
      confirmations,
    } as typeof TWO);
    const { text } = await first(server.mails);
    const { headers, body } = read(text);
    expect([...headers.keys()].sort()).toEqual(
      ["auto-submitted", "content-transfer-encoding", "content-type", "date", "from", "message-id"].concat([
        "mime-version",
        "subject",
        "to",
      ]),
    );
    expect(headers.get("subject")).toMatch(/^(?:=\?utf-8\?B\?[\w+/=]+\?= ?)+$/);
    expect(body).not.toMatch(/\u202e|^Bcc:/m);
    for (const line of text.split("\r\n")) expect(line.length).toBeLessThanOrEqual(78);
    expect(server.said.filter((line) => line.includes("evil"))).toEqual([]);
    expect(server.mails).toHaveLength(1);
  });

  test.each([
    true,
    false,
  ])("is encrypted, also the login (from the first byte on: %s)", async (isImplicit) => {
    const server = await start({ tls, isImplicit });
    const url = `${isImplicit ? "smtps" : "smtp"}://localhost:${server.port}`;
    const login = { user: "ann", password: "p\u00e4ss word" };
    await notify({ email: { server: url, ca: authority.cert, ...login, ...ADDRESSES } }, TWO);
    expect(await first(server.mails)).toMatchObject({ isEncrypted: true, login: "ann:p\u00e4ss word" });
    if (!isImplicit)
      expect(server.said.slice(0, 2).map((line) => line.split(" ")[0])).toEqual(["EHLO", "STARTTLS"]);
  });

  test("is not sent if somebody hides that the server can encrypt, or has another certificate", async () => {
    const hiding = await start({ tls, hidesStartTls: true });
    const email = { ca: authority.cert, user: "ann", password: "secret", ...ADDRESSES };
    const from = (port: number): Promise<void> =>
      notify({ email: { server: `smtp://localhost:${port}`, ...email } }, TWO);
    await expect(from(hiding.port)).rejects.toThrow("no STARTTLS");
    using other = new Authority();
    const false_ = await start({ tls: other.issue() });
    await expect(from(false_.port)).rejects.toThrow(/certificate|issuer/);
    for (const { said } of [hiding, false_]) expect(said.join()).not.toContain("AUTH");
  });

  test("that is refused is a failure, which does not repeat the password", async () => {
    const server = await start({ refuses: ["bob"] });
    const email = { server: `smtp://127.0.0.1:${server.port}`, ...ADDRESSES };
    await expect(notify({ email }, TWO)).rejects.toThrow("it answered 550 in place of 250");
    const failing = notify({ email: { ...email, user: "ann", password: "wrong" } }, TWO);
    await expect(failing).rejects.toThrow(/^it answered 535 in place of 235$/);
    expect(server.mails).toEqual([]);
  });
});

test.each([
  [{ server: "https://mail.example" }, "smtps://HOST or smtp://HOST"],
  [{ server: "smtps://user:pass@mail.example" }, "smtps://HOST or smtp://HOST"],
  [{ from: "a@example.com>\r\nRCPT TO:<eve@evil.example" }, "must be addresses"],
  [{ to: ["Ann <ann@example.com>"] }, "must be addresses"],
  [{ to: [] }, "must have an address"],
  [{ user: "ann" }, "both user and password"],
])("Mail with %j is refused", async (wrong, message) => {
  const email = { server: "smtps://mail.example", ...ADDRESSES, ...wrong };
  await expect(async () => notify({ email }, TWO)).rejects.toThrow(message);
});
