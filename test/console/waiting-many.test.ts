import { describe, expect, test } from "vitest";
import { HAS_NO_BROWSER, PATIENT, useBrowser } from "./browser.ts";
import { openScene } from "./server/scene.ts";

describe.skipIf(HAS_NO_BROWSER)("Many confirmations", () => {
  useBrowser();

  test("are answered one after the other: the page goes on to the next, and says what became of the last", async () => {
    const scene = await openScene();
    for (const text of ["one", "two"]) await scene.ask("write_note", { text });
    const third = await scene.ask("write_note", { text: "three" });
    const { page, errors } = await scene.open("carol", { view: 2 });
    await expect.poll(() => page.title(), PATIENT).toBe("(3) Sandgate console");
    const shown = page.getByRole("region", { name: "Arguments", exact: true });
    await page.keyboard.press("j");
    for (const text of ["one", "two"]) {
      await shown.getByText(text).waitFor();
      await page.keyboard.press("a");
      await page.getByRole("form", { name: "Confirm to allow" }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByText(/Before: write_note was allowed by carol; the call is completed/).waitFor();
    }
    await shown.getByText("three").waitFor();
    // Screen readers begin with what is shown now.
    expect(await page.locator(":focus").textContent()).toContain("write_note");
    await page.keyboard.press("d");
    await page.getByRole("form", { name: "Confirm to deny" }).waitFor();
    await page.keyboard.type("Not a third one");
    await page.keyboard.press("Enter");
    await page.getByText("This was denied by carol.").waitFor();
    expect((await scene.ended(third))?.error?.message).toContain('Their reason: "Not a third one"');
    expect(scene.notes.inputs).toEqual([{ text: "one" }, { text: "two" }]);
    await expect.poll(() => page.title(), PATIENT).toBe("Sandgate console");
    expect(errors).toEqual([]);
  });

  test("are filtered and grouped by tool and session", async () => {
    const scene = await openScene();
    await scene.ask("write_note", { text: "apple" });
    await scene.ask("rename", { text: "pear" });
    await scene.ask("write_note", { text: "plum" });
    const { page } = await scene.open("carol", { view: 2 });
    const links = page.getByRole("main").getByRole("listitem").getByRole("link");
    await expect.poll(() => links.allTextContents(), PATIENT).toEqual(["write_note", "rename", "write_note"]);
    await page.getByRole("searchbox", { name: "Filter" }).fill("PEAR");
    await expect.poll(() => links.allTextContents(), PATIENT).toEqual(["rename"]);
    await page.getByRole("searchbox", { name: "Filter" }).fill("");
    await page.locator("main").press("g");
    await page.getByRole("heading", { name: "rename" }).waitFor();
    expect(await page.getByRole("list", { name: /confirmations$/ }).count()).toBe(3);
  });

  test("are opened and selected by the same keys on a keyboard of another script", async () => {
    const scene = await openScene();
    for (const text of ["one", "two"]) await scene.ask("write_note", { text });
    const { page } = await scene.open("carol", { view: 2 });
    await page.getByRole("button", { name: "Answer 0 together" }).waitFor();
    const press = (key: string, code: string): Promise<boolean> =>
      page.evaluate(
        (init) => document.body.dispatchEvent(new KeyboardEvent("keydown", { ...init, bubbles: true })),
        { key, code },
      );
    await press("\u043e", "KeyJ");
    await page.getByRole("region", { name: "Arguments", exact: true }).getByText("one").waitFor();
    await press("\u042b", "KeyS");
    await page.getByRole("button", { name: "Answer 2 together" }).waitFor();
    await press("\u044b", "KeyS");
    await page.getByRole("button", { name: "Answer 1 together" }).waitFor();
    await page.getByRole("button", { name: "Allow…" }).waitFor();
    await press("\u0444", "KeyA");
    await page.getByRole("form", { name: "Confirm to allow" }).waitFor();
  });

  test("get one answer after each of them was shown, and not before", async () => {
    const scene = await openScene();
    const long = "word\n".repeat(50);
    for (let at = 1; at <= 6; at++) await scene.ask("write_note", { text: `${long}${at}` });
    const { page, errors } = await scene.open("carol", { view: 2 });
    const boxes = page.getByRole("checkbox", { name: "Select write_note" });
    await expect.poll(() => boxes.count(), PATIENT).toBe(6);
    for (let at = 0; at < 5; at++) await boxes.nth(at).check();
    await page.getByRole("button", { name: "Answer 5 together" }).click();
    const allow = page.getByRole("button", { name: "Allow 5…" });
    await allow.waitFor();
    await page.getByText(/\d not shown yet/).waitFor();
    await page.keyboard.press("a");
    expect(await page.getByRole("form", { name: "Confirm to allow" }).count()).toBe(0);
    await expect
      .poll(async () => {
        await page.keyboard.press("n");
        return allow.isEnabled();
      }, PATIENT)
      .toBe(true);
    await page.getByText("Each was shown.").waitFor();
    await page.keyboard.press("a");
    await page.getByRole("form", { name: "Confirm to allow" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("5 calls allowed.").waitFor();
    await expect.poll(() => scene.notes.inputs.length, PATIENT).toBe(5);
    await expect.poll(() => page.title(), PATIENT).toBe("(1) Sandgate console");
    expect(errors).toEqual([]);
  });

  test("show a recipient that looks like that of the others, with the difference in words", async () => {
    const scene = await openScene();
    for (const text of ["src/config.ts", "src/config.ts", "src/conf\u0456g.ts"]) {
      await scene.ask("write_note", { path: text, text });
    }
    const { page } = await scene.open("carol", { view: 2 });
    await page.getByRole("main").getByRole("listitem").getByRole("link").last().click();
    await page.getByRole("region", { name: "Look at this" }).getByText("looks like it").first().waitFor();
    await page.getByRole("region", { name: "Arguments", exact: true }).getByText("\\u0456").first().waitFor();
  });
});
