import { describe, expect, test } from "vitest";
import type { ClientName } from "../server/harness.ts";
import { HAS_NO_BROWSER, PATIENT, useBrowser } from "./browser.ts";
import { openScene } from "./server/scene.ts";

/** A server with a tool that people are asked about, and pages of people. */
async function scene() {
  const opened = await openScene();
  return {
    scene: opened,
    notes: opened.notes,
    ask: (text: string) => opened.ask("write_note", { text }),
    open: (client: ClientName) => opened.open(client, { view: 2 }),
  };
}

describe.skipIf(HAS_NO_BROWSER)("Waiting for me", () => {
  useBrowser();

  test("has a call allowed by keyboard alone, in two steps", async () => {
    const { scene: on, ask, open, notes } = await scene();
    const begun = await ask("hello");
    const { page, errors } = await open("carol");
    await page.getByRole("link", { name: /write_note/ }).waitFor();
    await page.keyboard.press("j");
    await page.getByRole("region", { name: "Arguments", exact: true }).getByText("hello").waitFor();
    await page.keyboard.press("x");
    const exact = page.getByRole("region", { name: "Exact arguments" });
    expect(JSON.parse((await exact.textContent()) ?? "")).toEqual({ text: "hello" });
    await page.keyboard.press("a");
    await page.getByRole("form", { name: "Confirm to allow" }).waitFor();
    expect(notes.inputs).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByText("This was allowed by carol.").waitFor();
    const execution = await on.ended(begun);
    expect(execution?.confirmation?.by).toBe("carol");
    expect(notes.inputs).toEqual([{ text: "hello" }]);
    expect(errors).toEqual([]);
  });

  test("has a call denied, and does nothing after Escape", async () => {
    const { scene: on, ask, open, notes } = await scene();
    const begun = await ask("hello");
    const { page } = await open("carol");
    await page.getByRole("link", { name: /write_note/ }).click();
    await page.getByRole("button", { name: "Allow…" }).waitFor();
    await page.keyboard.press("a");
    await page.keyboard.press("Escape");
    await page.getByRole("form", { name: "Confirm to allow" }).waitFor({ state: "detached" });
    // Screen readers go on with what is asked, where Enter answers nothing.
    expect(await page.locator("h2:focus").textContent()).toContain("write_note");
    await page.keyboard.press("Enter");
    expect(await page.getByRole("form").count()).toBe(0);
    await page.keyboard.press("d");
    await page.getByRole("form", { name: "Confirm to deny" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("This was denied by carol.").waitFor();
    expect((await on.ended(begun))?.error?.message).toContain("User denied");
    expect(notes.inputs).toEqual([]);
  });

  test("runs a call with edited arguments, after they were shown again", async () => {
    const { scene: on, ask, open, notes } = await scene();
    const begun = await ask("hel\u202elo");
    const { page } = await open("carol");
    await page.getByRole("link", { name: /write_note/ }).click();
    await page.getByRole("button", { name: "Edit…" }).waitFor();
    await page.keyboard.press("e");
    const field = page.getByLabel("Arguments, as JSON");
    expect(await field.inputValue()).toBe('{\n  "text": "hel\\u202elo"\n}');
    await field.fill("{");
    await page.keyboard.press("Control+Enter");
    await page.getByText("This is not JSON").waitFor();
    await field.fill('{ "text": "bye" }');
    await page.keyboard.press("Control+Enter");
    await page.getByRole("region", { name: "Edited arguments" }).getByText('"bye"').waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("This was allowed by carol.").waitFor();
    await on.ended(begun);
    expect(notes.inputs).toEqual([{ text: "bye" }]);
  });

  test("remembers an answer for the chosen scope", async () => {
    const { scene: on, ask, open } = await scene();
    const begun = await ask("hello");
    const { page } = await open("carol");
    await page.getByRole("link", { name: /write_note/ }).click();
    await page.getByRole("button", { name: "Allow…" }).click();
    await page.getByRole("combobox").selectOption("ten");
    await page.getByRole("button", { name: "Allow (Enter)" }).click();
    await page.getByText("This was allowed by carol.").waitFor();
    await on.ended(begun);
    const { execution } = await on.call("write_note", { text: "again" }, begun.session);
    expect(execution?.success).toBe(true);
  });

  test("moves nothing when confirmations open and end, and withdraws what was prepared for another one", async () => {
    const { ask, open, notes } = await scene();
    await ask("one");
    await ask("two");
    const { page } = await open("carol");
    const cards = page.getByRole("list", { name: "Confirmations" }).getByRole("link");
    await expect.poll(() => cards.count(), PATIENT).toBe(2);
    await cards.nth(1).click();
    await page.getByRole("button", { name: "Allow…" }).waitFor();
    await page.keyboard.press("a");
    await page.getByRole("form", { name: "Confirm to allow" }).waitFor();
    const box = await cards.nth(1).boundingBox();
    await ask("three");
    await expect.poll(() => cards.count(), PATIENT).toBe(3);
    expect(await cards.nth(1).boundingBox()).toEqual(box);
    expect(await cards.nth(1).getAttribute("aria-current")).toBe("true");
    await page.getByRole("status").getByText("write_note waits for an answer.").waitFor();
    // Moving to another confirmation withdraws the first step.
    await cards.nth(0).focus();
    await page.keyboard.press("k");
    await page.getByRole("form", { name: "Confirm to allow" }).waitFor({ state: "detached" });
    await page.getByRole("region", { name: "Arguments", exact: true }).getByText("one").waitFor();
    expect(notes.inputs).toEqual([]);
  });

  test("says to each of two people who answered first", async () => {
    const { ask, open, notes } = await scene();
    await ask("hello");
    const [carol, dave] = await Promise.all([open("carol"), open("dave")]);
    for (const { page } of [carol, dave]) {
      await page.getByRole("link", { name: /write_note/ }).click();
      await page.getByRole("button", { name: "Allow…" }).waitFor();
      await page.keyboard.press("a");
      await page.getByRole("form", { name: "Confirm to allow" }).waitFor();
    }
    await Promise.all([carol.page.keyboard.press("Enter"), dave.page.keyboard.press("Enter")]);
    const ends = await Promise.all(
      [carol, dave].map(({ page }) => page.getByText(/This was allowed by (carol|dave)\./).textContent()),
    );
    expect(new Set(ends).size).toBe(1);
    await expect.poll(() => notes.inputs, PATIENT).toEqual([{ text: "hello" }]);
  });

  test("lets a reader read, and not answer", async () => {
    const { ask, open } = await scene();
    await ask("hello");
    const { page } = await open("erin");
    await page.getByRole("link", { name: /write_note/ }).click();
    await page.getByText("An approver of the session answers it.").waitFor();
    await page.keyboard.press("a");
    expect(await page.getByRole("button", { name: "Allow…" }).count()).toBe(0);
    expect(await page.getByRole("form").count()).toBe(0);
  });
});
