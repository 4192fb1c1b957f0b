import { describe, expect, test } from "vitest";
import { TOKENS } from "../server/harness.ts";
import { HAS_NO_BROWSER, openPage, PATIENT, useBrowser } from "./browser.ts";
import { openScene } from "./server/scene.ts";

describe.skipIf(HAS_NO_BROWSER)("The page of the console", () => {
  useBrowser();

  test("logs in with the token of its address, which it removes from the address bar and the history", async () => {
    const scene = await openScene();
    const link = `${scene.origin}/console/#token=${scene.server.issueConsoleToken()}`;
    const { page, errors, origins } = await openPage(link);
    await page.getByRole("heading", { name: "Live" }).waitFor();
    expect(page.url()).not.toContain("token");
    expect(await page.evaluate(() => performance.getEntriesByType("navigation").length)).toBe(1);
    expect(await page.evaluate(() => document.cookie)).toBe("");
    await page.getByText("connected", { exact: true }).waitFor();
    expect(errors).toEqual([]);
    expect([...origins]).toEqual([scene.origin]);
    const second = await openPage(link);
    await second.page.getByText("the token is wrong, or it was used already").waitFor();
  });

  test("logs in with a pasted token, says that a token is wrong, and logs out", async () => {
    const scene = await openScene();
    const { page } = await openPage(`${scene.origin}/console/#token=wrong-token-of-nobody`);
    await page.getByText("the token is wrong").waitFor();
    await page.getByLabel("Token").fill(TOKENS.erin);
    await page.keyboard.press("Enter");
    // A reader begins with what happened.
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.getByRole("heading", { name: "Overview" }).count()).toBe(0);
  });

  test("says what to do as long as there are no calls", async () => {
    const scene = await openScene();
    const { page } = await scene.open("erin");
    await page.getByRole("heading", { name: "No calls yet" }).waitFor();
    await scene.call("echo", { text: "one" });
    await page.getByRole("row").getByText("completed").waitFor();
    expect(await page.getByRole("heading", { name: "No calls yet" }).count()).toBe(0);
    await page.getByLabel("Tool").fill("nothing");
    await page.getByText("No calls match.").waitFor();
  });

  test("shows who called with which arguments, and leads from a call that waits to its confirmation", async () => {
    const scene = await openScene();
    await scene.call("send_mail", { body: "Hello", to: "ann@example.com" });
    await scene.ask("write_note", { text: "remember" });
    const { page } = await scene.open("carol");
    const rows = page.getByRole("treegrid").locator(".rows > .row");
    await expect.poll(() => rows.count(), PATIENT).toBe(2);
    await rows.nth(1).getByText("ann@example.com · body: Hello").waitFor();
    await rows.nth(1).getByText("alice").waitFor();
    await rows.nth(1).getByText("denied", { exact: true }).waitFor();
    await rows.nth(0).getByRole("link", { name: "waiting" }).click();
    await page.getByRole("button", { name: "Allow…" }).waitFor();
  });

  test("shows the names of sessions and when they began, and finds calls by the names", async () => {
    const scene = await openScene();
    const session = await scene.client("alice").open({ name: "Release 2.4 <b>" });
    await scene.call("echo", { text: "one" }, session);
    await scene.call("echo", { text: "two" });
    const { page } = await scene.open("erin");
    const rows = page.getByRole("treegrid").locator(".rows > .row");
    await expect.poll(() => rows.count(), PATIENT).toBe(2);
    expect(await rows.nth(1).locator(".session").innerText()).toMatch(/^\d\d:\d\d Release 2\.4 <b>$/);
    await page.getByLabel("Session").fill("Release");
    await page.getByText("1 call", { exact: true }).waitFor();
    await rows.nth(0).click();
    await page.getByText(/session Release 2\.4 <b>, begun at \d/).waitFor();
    await page.keyboard.press("6");
    await page.getByRole("link", { name: "Release 2.4 <b>" }).waitFor();
  });

  test("shows calls below the calls that made them, with their phases", async () => {
    const scene = await openScene();
    const { execution } = await scene.call("outer_tool", { text: "hello" });
    expect(execution).toMatchObject({ success: true });
    await scene.call("echo", { text: "hello" });
    const { page } = await scene.open("erin");
    const rows = page.getByRole("treegrid").locator(".rows > .row");
    await expect.poll(() => rows.count(), PATIENT).toBe(3);
    expect(await rows.locator(".name bdi").allTextContents()).toEqual(["echo", "outer_tool", "inner_tool"]);
    expect(await rows.nth(2).getAttribute("aria-level")).toBe("2");
    expect(await rows.nth(1).getByRole("img").getAttribute("aria-label")).toMatch(/decide .+ sandbox .+ m?s/);
  });

  test("adds calls that begin, and changes those that end", async () => {
    const scene = await openScene();
    const { page } = await scene.open("erin");
    const begun = await scene.begin("hold");
    await page.getByRole("row").getByText("running").waitFor();
    scene.held.releaseAll();
    await scene.ended(begun);
    await page.getByRole("row").getByText("completed").waitFor();
    expect(await page.getByRole("row").getByText("running").count()).toBe(0);
  });

  test("has few elements for ten thousand calls, and keeps the rows in view when calls begin", async () => {
    const scene = await openScene();
    const alice = scene.client("alice");
    const session = await alice.open();
    const call = (id: number) => ({ id: `call_${id}`, name: "send_mail", arguments: { to: "x" } });
    const { page } = await scene.open("erin");
    for (let from = 0; from < 10_000; from += 500) {
      const calls = Array.from({ length: 500 }, (_, at) => call(from + at));
      const { turnId } = await alice.dispatch(session, calls);
      await alice.executions(session, turnId);
    }
    await page.getByText("10,000 calls").waitFor();
    const list = page.locator(".rows");
    expect(await list.locator(".row").count()).toBeLessThan(100);
    await list.evaluate((element) => {
      element.scrollTop = 5_000 * 28;
    });
    const inView = page.locator("[aria-rowindex='5012']");
    await inView.waitFor();
    const id = await inView.getAttribute("id");
    const box = await inView.boundingBox();
    for (const next of [10_000, 10_001]) await alice.dispatch(session, [call(next)]);
    await expect.poll(() => list.evaluate((element) => element.scrollTop), PATIENT).toBe(5_002 * 28);
    expect(await page.locator(`#${id}`).boundingBox()).toEqual(box);
  });

  test("filters calls by session, tool, state and code", async () => {
    const scene = await openScene();
    const { session } = await scene.call("echo", { text: "one" });
    await scene.call("echo", { text: "two" }, session);
    await scene.call("send_mail", { to: "ann@example.com" });
    await scene.call("no_such_tool");
    const { page } = await scene.open("erin");
    await page.getByText("4 calls").waitFor();
    await page.getByLabel("Code").fill("denied");
    await page.getByText("1 call", { exact: true }).waitFor();
    await page.getByLabel("Code").fill("");
    await page.getByLabel("Session").fill(session);
    await page.getByText("2 calls").waitFor();
    await page.getByLabel("Session").fill("");
    for (const state of ["failed", "denied"]) {
      await page.getByLabel("State").selectOption(state);
      await page.getByText("1 call", { exact: true }).waitFor();
    }
    await page.getByLabel("State").selectOption("ended");
    await page.getByLabel("Tool").fill("ech");
    await page.getByText("2 calls").waitFor();
  });

  test("asks the server for calls that match a filter, if it has more than the page has read", async () => {
    const scene = await openScene();
    await scene.call("echo", { text: "the oldest" });
    const alice = scene.client("alice");
    const session = await alice.open();
    const calls = Array.from({ length: 600 }, (_, at) => ({ id: `call_${at}`, name: "none", arguments: {} }));
    const { turnId } = await alice.dispatch(session, calls);
    await alice.executions(session, turnId);
    const { page } = await scene.open("erin");
    await page.getByText("500 calls").waitFor();
    await page.getByLabel("Tool").fill("cho");
    await page.getByText("1 call", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Output" }).getByText("the oldest").waitFor();
  });

  test("says by keyboard alone why a call was denied", async () => {
    const scene = await openScene();
    await scene.call("echo", { text: "one" });
    await scene.call("send_mail", { to: "ann@example.com" });
    const { page, errors } = await scene.open("erin");
    await page.getByText("2 calls").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    const panel = page.getByRole("complementary", { name: "Why" });
    await panel.getByText("Permission denied: tool 'send_mail' is disabled by policy").waitFor();
    await panel.getByRole("list", { name: "Rules that came near" }).getByText("mail-to-team").waitFor();
    await panel
      .getByRole("list", { name: "Rules that came near" })
      .getByText('/to is "ann@example.com"; the rule allows "*@team.example"')
      .waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await panel.getByText("denied", { exact: true }).waitFor();
    for (const [name, rule] of [
      ["Copy the rule", "- name: mail-to-team"],
      ["Copy the rule for exactly this call", "one call of send_mail"],
    ] as const) {
      await panel.getByRole("button", { name, exact: true }).press("Enter");
      await panel.getByText("Copied").last().waitFor();
      const copied = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
      await expect.poll(copied, PATIENT).toContain(rule);
    }
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    expect(errors).toEqual([]);
  });

  test("lists its keys", async () => {
    const scene = await openScene();
    const { page } = await scene.open("erin");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "hidden" });
    await page.keyboard.press("4");
    await page.getByRole("heading", { name: "Tools" }).waitFor();
  });
});
