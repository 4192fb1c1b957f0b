import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { SubscribedBrowser, vapidKey } from "../server/notifying/push-browser.ts";
import { first, receivingServer } from "../server/notifying/receiver.ts";
import { HAS_NO_BROWSER, PATIENT, useBrowser } from "./browser.ts";
import { openScene } from "./server/scene.ts";

/**
 * Has a page subscribe at the test's push service, which would be that of the browser's maker. Everything else is the
 * browser's own: the permission, the service worker, the message that it gets, and the notification.
 */
async function usePushService(page: Page, subscription: object): Promise<void> {
  await page.context().grantPermissions(["notifications"]);
  await page.evaluate((json) => {
    let subscribed: object | null = null;
    const manager = PushManager.prototype as unknown as Record<string, unknown>;
    manager["getSubscription"] = async () => subscribed;
    manager["subscribe"] = async ({ applicationServerKey }: { applicationServerKey: string }) => {
      document.documentElement.dataset["key"] = applicationServerKey;
      const unsubscribe = async () => {
        subscribed = null;
      };
      subscribed = { ...json, toJSON: () => json, unsubscribe };
      return subscribed;
    };
  }, subscription);
}

/** Delivers a message to the service worker of a page, as the browser does. */
async function deliver(page: Page, message: unknown): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const registered = new Promise<string>((resolve) => {
    session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      for (const { registrationId } of registrations) resolve(registrationId);
    });
  });
  await session.send("ServiceWorker.enable");
  const { origin } = new URL(page.url());
  const data = JSON.stringify(message);
  await session.send("ServiceWorker.deliverPushMessage", { origin, registrationId: await registered, data });
}

describe.skipIf(HAS_NO_BROWSER)("A browser of an approver", () => {
  useBrowser();

  test("subscribes, shows what waits by a service worker, and no longer after the person logged out", async () => {
    const { origin, received } = await receivingServer(201);
    const { key, point } = vapidKey();
    const devices = join(mkdtempSync(join(tmpdir(), "push-")), "devices.json");
    const webPush = { key, contact: "mailto:ops@example.com", devices, services: [origin] };
    const scene = await openScene({ notify: { webPush, consoleUrl: "https://console.example" } });
    const { page, errors, origins } = await scene.open("carol", { view: 2 });
    const browser = new SubscribedBrowser();
    await usePushService(page, browser.subscription(`${origin}/carol`));
    await page.getByRole("button", { name: "Notify this browser" }).click();
    await page.getByRole("button", { name: "Stop notifying this browser" }).waitFor();
    expect(await page.evaluate(() => document.documentElement.dataset["key"])).toBe(
      point.toString("base64url"),
    );
    await scene.ask("write_note", { text: "hello" });
    const message = browser.decrypt((await first(received)).body);
    await deliver(page, message);
    const shown = () =>
      page.evaluate(async () => {
        const registration = await navigator.serviceWorker.getRegistration("/console/");
        const found = (await registration?.getNotifications()) ?? [];
        return found.map(({ title, body, data }) => ({ title, body, data }));
      });
    await expect.poll(shown, PATIENT).toEqual([
      {
        title: "write_note waits for an answer",
        body: expect.stringContaining("write_note (write) in the session"),
        data: expect.stringMatching(/^\/console\/#\/waiting\/\w+$/),
      },
    ]);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(readFileSync(devices, "utf8")).toBe("[]\n");
    expect(errors).toEqual([]);
    expect([...origins]).toEqual([scene.origin]);
  });

  test("offers nothing if the server notifies no browsers, or the person only reads", async () => {
    const scene = await openScene();
    for (const name of ["carol", "erin"] as const) {
      const { page } = await scene.open(name, { view: 2 });
      await page.getByText("Nothing waits for an answer.").waitFor();
      expect(await page.getByRole("button", { name: "Notify this browser" }).count()).toBe(0);
    }
  });
});
