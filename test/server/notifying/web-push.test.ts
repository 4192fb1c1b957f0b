import { createPublicKey, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { SubscribedBrowser, vapidKey } from "./push-browser.ts";
import { first, MANY, notify, type Received, receivingServer, TWO } from "./receiver.ts";

/** The claims of an authorization of VAPID (RFC 8292), whose signature is right. */
function claimsOf({ headers }: Received, point: Buffer): Record<string, unknown> {
  const [, token = "", key] = /^vapid t=([^,]+), k=(.+)$/.exec(String(headers.authorization)) ?? [];
  expect(key).toBe(point.toString("base64url"));
  const [header = "", claims = "", signature = ""] = token.split(".");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  const jwk = { kty: "EC", crv: "P-256", x: String(x), y: String(y) };
  const publicKey = createPublicKey({ key: jwk, format: "jwk" });
  const signed = Buffer.from(`${header}.${claims}`);
  const isRight = verify(
    "sha256",
    signed,
    { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  expect(isRight).toBe(true);
  return JSON.parse(Buffer.from(claims, "base64url").toString());
}

const CONTACT = "mailto:ops@example.com";

describe("A push message", () => {
  test("is for the browsers that subscribed only, and authorized", async () => {
    const { origin, received } = await receivingServer(201);
    const [one, other] = [new SubscribedBrowser(), new SubscribedBrowser()];
    const { key, point } = vapidKey();
    const subscriptions = [one.subscription(`${origin}/push/1`), other.subscription(`${origin}/push/2`)];
    await notify({ webPush: { key, contact: CONTACT, subscriptions } }, TWO);
    const mine = received.find(({ path }) => path === "/push/1") as Received;
    expect(one.decrypt(mine.body)).toMatchObject({
      title: "2 calls wait for an answer",
      link: "https://console.example/console/#/waiting",
    });
    expect(() => other.decrypt(mine.body)).toThrow();
    expect(mine.headers).toMatchObject({ "content-encoding": "aes128gcm", ttl: "300", urgency: "high" });
    const claims = claimsOf(mine, point);
    expect(claims).toMatchObject({ aud: origin, sub: CONTACT });
    const left = Number(claims["exp"]) - Date.now() / 1_000;
    expect(left > 0 && left < 86_400).toBe(true);
    expect(received).toHaveLength(2);
  });

  test("has at most 4,096 bytes, however much waits", async () => {
    const { origin, received } = await receivingServer(201);
    const browser = new SubscribedBrowser();
    const webPush = {
      key: vapidKey().key,
      contact: CONTACT,
      subscriptions: [browser.subscription(`${origin}/p`)],
    };
    await notify({ webPush }, MANY);
    const { body } = await first(received);
    expect(body.length).toBeLessThanOrEqual(4_096);
    expect(browser.decrypt(body)).toMatchObject({ title: "32 calls wait for an answer" });
  });

  test("that a device does not get is a failure that names no endpoint", async () => {
    const { origin } = await receivingServer(410);
    const subscriptions = [new SubscribedBrowser().subscription(`${origin}/secret`)];
    const failing = notify({ webPush: { key: vapidKey().key, contact: CONTACT, subscriptions } }, TWO);
    await expect(failing).rejects.toThrow(/^1 of 1 devices: it answered with status 410$/);
  });
});

test.each([
  [{ key: "short" }, "32 bytes in base64url"],
  [{ contact: "ops" }, "must be a mailto: or https: URL"],
  [{ subscriptions: [] }, "needs a subscription, or devices"],
  [{ devices: "/tmp/d.json", services: ["push.example.com"] }, "must be origins"],
  [
    { subscriptions: [{ endpoint: "https://a.example", keys: { p256dh: "AA", auth: "AA" } }] },
    "what a browser",
  ],
])("Web push with %j is refused", async (wrong, message) => {
  const subscriptions = [new SubscribedBrowser().subscription("https://push.example/1")];
  const webPush = { key: vapidKey().key, contact: CONTACT, subscriptions, ...wrong };
  await expect(async () => notify({ webPush }, TWO)).rejects.toThrow(message);
});
