import { describe, expect, test } from "vitest";
import { TOKENS } from "../server/harness.ts";
import { HAS_NO_BROWSER, useBrowser } from "./browser.ts";
import { openScene } from "./server/scene.ts";

describe.skipIf(HAS_NO_BROWSER)("The page, if its server was started anew", () => {
  useBrowser();

  test("has the person log in again, and goes on with what they had typed", async () => {
    const scene = await openScene();
    await scene.call("echo", { text: "before" });
    const begun = await scene.ask("write_note", { text: "one" });
    const { page, origins } = await scene.open("carol", { view: 2 });
    await page.getByRole("link", { name: /write_note/ }).click();
    await page.getByRole("button", { name: "Edit…" }).waitFor();
    await page.keyboard.press("e");
    await page.getByLabel("Arguments, as JSON").fill('{ "text": "two" }');
    const { address } = scene.server;
    await scene.stop();
    await page.getByText("not connected").waitFor();
    await scene.start(address);
    const again = page.getByRole("dialog", { name: "Your login has ended" });
    await again.waitFor();
    // No key reaches the view behind the dialog, and Escape does not close it.
    await page.keyboard.press("Escape");
    await again.getByLabel("Token").fill(TOKENS.carol);
    await page.keyboard.press("Enter");
    await again.waitFor({ state: "detached" });
    await page.getByText("connected", { exact: true }).waitFor();
    expect(await page.getByLabel("Arguments, as JSON").inputValue()).toBe('{ "text": "two" }');
    await page.getByLabel("Arguments, as JSON").press("Control+Enter");
    await page.getByRole("form", { name: "Confirm to allow" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("This was allowed by carol.").waitFor();
    expect((await scene.ended(begun))?.success).toBe(true);
    expect(scene.notes.inputs).toEqual([{ text: "two" }]);
    await scene.call("echo", { text: "after" });
    await page.locator("main").press("1");
    await page.locator(".row", { hasText: "echo" }).nth(1).waitFor();
    expect(await page.locator(".row", { hasText: "waiting" }).count()).toBe(0);
    expect([...origins]).toEqual([scene.origin]);
  });

  test("forgets what it has read if somebody else logs in", async () => {
    const scene = await openScene();
    await scene.call("echo", { text: "of alice" });
    const { page } = await scene.open("erin");
    await page.locator(".row", { hasText: "echo" }).waitFor();
    const { address } = scene.server;
    await scene.stop();
    await scene.start(address);
    await page.getByLabel("Token").fill(TOKENS.mallory);
    await page.keyboard.press("Enter");
    await page.getByText("mallory").waitFor();
    await page.getByRole("heading", { name: "No calls yet" }).waitFor();
    expect(await page.locator(".row", { hasText: "echo" }).count()).toBe(0);
  });

  test("reads the calls that it missed while it was not connected", async () => {
    const scene = await openScene();
    const running = await scene.begin("hold");
    const { page } = await scene.open("erin");
    await page.getByRole("row").getByText("running").waitFor();
    await page.context().setOffline(true);
    await page.evaluate(() => dispatchEvent(new Event("offline")));
    const alice = scene.client("alice");
    const session = await alice.open();
    for (let from = 0; from < 1_200; from += 300) {
      const calls = Array.from({ length: 300 }, (_, at) => ({
        id: `call_${from + at}`,
        name: "send_mail",
        arguments: { to: "x" },
      }));
      const { turnId } = await alice.dispatch(session, calls);
      await alice.executions(session, turnId);
    }
    scene.held.releaseAll();
    await scene.ended(running);
    await page.context().setOffline(false);
    await page.getByText("1,201 calls").waitFor();
    await page.getByLabel("State").selectOption("running");
    await page.getByText("0 calls").waitFor();
  });

  test("says how a call was answered, even if that could not be read at first", async () => {
    const scene = await openScene();
    await scene.ask("write_note", { text: "hello" });
    const { page } = await scene.open("carol", { view: 2 });
    await page.getByRole("link", { name: "write_note" }).click();
    await page.getByRole("button", { name: "Allow…" }).waitFor();
    let failures = 0;
    await page.route(/\/turns\/[^/]+\/confirmations\//, async (route) => {
      if (failures++ === 0) await route.abort();
      else await route.continue();
    });
    const dave = scene.client("dave");
    for (const confirmation of await dave.confirmations())
      await dave.answer(confirmation, { decision: "allow" });
    await page.getByText("This was allowed by dave.").waitFor();
    expect(failures).toBeGreaterThan(1);
  });
});
