import { describe, expect, test } from "vitest";
import { HAS_NO_BROWSER, useBrowser } from "./browser.ts";
import { openScene } from "./server/scene.ts";

describe.skipIf(HAS_NO_BROWSER)("Waiting for me", () => {
  useBrowser();

  test("shows the digest of what would run, and a diff of what the tool says that it would change", async () => {
    const scene = await openScene();
    const begun = await scene.ask("rename", { text: "two" });
    const [confirmation] = await scene.client("carol").confirmations();
    const { page } = await scene.open("carol", { view: 2 });
    await page.getByRole("link", { name: /^rename/ }).waitFor();
    await page.keyboard.press("j");
    const changes = page.getByRole("region", { name: "Projected changes" });
    expect(await changes.locator(".removed").textContent()).toBe("-one\n");
    expect(await changes.locator(".added").textContent()).toBe("+two\n");
    expect(await page.locator("code.digest").textContent()).toBe(confirmation?.digest);
    await page.keyboard.press("a");
    await page.getByRole("form", { name: "Confirm to allow" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("This was allowed by carol.").waitFor();
    expect((await scene.ended(begun))?.confirmation?.digest).toBe(confirmation?.digest);
  });

  test("has a question answered with one of its options, by keyboard alone", async () => {
    const scene = await openScene();
    const begun = await scene.ask("asks", { question: "Which\u202e one?", choices: ["left", "right"] });
    const { page } = await scene.open("carol", { view: 2 });
    await page.getByRole("link", { name: /^asks/ }).waitFor();
    await page.keyboard.press("j");
    await page.getByRole("region", { name: "Question" }).getByText("Which\\u202e one?").waitFor();
    await page.getByRole("radio", { name: "right" }).focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Enter");
    await page.getByText("This was answered by carol.").waitFor();
    expect((await scene.ended(begun))?.output).toBe("right");
  });

  test("has a question answered with a text, which takes no keys for answers", async () => {
    const scene = await openScene();
    const begun = await scene.ask("asks", { question: "What is it called?" });
    const { page } = await scene.open("carol", { view: 2 });
    await page.getByRole("link", { name: /^asks/ }).click();
    await page.getByLabel("Answer", { exact: true }).pressSequentially("a dead end");
    expect(await page.getByRole("form", { name: /^Confirm/ }).count()).toBe(0);
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    await page.getByText("This was answered by carol.").waitFor();
    expect((await scene.ended(begun))?.output).toBe("a dead end");
  });

  test("has a plan allowed, whose text is shown whole", async () => {
    const scene = await openScene();
    const plan = Array.from({ length: 200 }, (_, at) => `${at + 1}. Read file ${at}.`).join("\n");
    const begun = await scene.ask("submit_plan", { plan });
    const { page } = await scene.open("carol", { view: 2 });
    await page.getByRole("link", { name: /^submit_plan/ }).click();
    await page.getByRole("button", { name: "Exact JSON" }).click();
    const exact = page.getByRole("region", { name: "Exact arguments" });
    expect(JSON.parse((await exact.textContent()) ?? "")).toEqual({ plan });
    await page.getByRole("button", { name: "Allow…" }).click();
    await page.getByRole("button", { name: "Allow (Enter)" }).click();
    await page.getByText("This was allowed by carol.").waitFor();
    expect((await scene.ended(begun))?.output).toEqual({ approved: true });
  });

  test("tells everyone who sees a confirmation how it ended, without loading anything again", async () => {
    const scene = await openScene();
    await scene.ask("write_note", { text: "hello" });
    const [carol, dave, erin] = [
      await scene.open("carol", { view: 2 }),
      await scene.open("dave", { view: 2 }),
      await scene.open("erin", { view: 2 }),
    ];
    for (const { page } of [carol, dave, erin]) {
      await page.getByRole("link", { name: /^write_note/ }).click();
      await page.getByRole("region", { name: "Arguments", exact: true }).waitFor();
    }
    await dave.page.getByRole("button", { name: "Allow…" }).waitFor();
    await dave.page.keyboard.press("a");
    await carol.page.keyboard.press("d");
    await carol.page.getByRole("form", { name: "Confirm to deny" }).waitFor();
    await carol.page.keyboard.press("Enter");
    for (const { page } of [carol, dave, erin]) await page.getByText("This was denied by carol.").waitFor();
    expect(await dave.page.getByRole("form", { name: "Confirm to allow" }).count()).toBe(0);
    expect(scene.notes.inputs).toEqual([]);
  });
});
