import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { HAS_NO_BROWSER, PATIENT, useBrowser } from "./browser.ts";
import { overflow } from "./overflow.ts";
import { openScene } from "./server/scene.ts";

const SIZES = [
  { width: 390, height: 844 },
  { width: 768, height: 1_024 },
  { width: 1_280, height: 800 },
] as const;

const VIEWS = ["Overview", "Live", "Waiting for me", "History", "Tools", "Changes", "Sessions"] as const;

const SCHEMES = ["light", "dark"] as const;

/** What hinders people who cannot see or use the page as others do. */
async function violations(page: Page): Promise<readonly string[]> {
  const found = await new AxeBuilder({ page }).analyze();
  return found.violations.map(({ id, nodes }) => `${id} ${nodes[0]?.html}`);
}

/** Keeps a screenshot for people in the folder that `SANDGATE_SCREENSHOTS` names, if it does. */
async function takeShot(page: Page, name: string): Promise<void> {
  const folder = process.env["SANDGATE_SCREENSHOTS"];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
}

describe.skipIf(HAS_NO_BROWSER)("On a phone, a tablet and a desktop", () => {
  useBrowser();

  test.each(
    SIZES.flatMap((size) => SCHEMES.map((colorScheme) => ({ ...size, colorScheme }))),
  )("an edit shows its path and its difference above the buttons at $width pixels, $colorScheme", async ({
    colorScheme,
    ...size
  }) => {
    const scene = await openScene();
    mkdirSync(join(scene.workspace, "src"));
    const edits = [{ old: "limit = 10;\nname = 'a';", new: "limit = 100;\nname = 'a';" }];
    await scene.ask("edit_file", { path: "src/config.ts", edits });
    const { page, errors } = await scene.open("carol", { view: 2, colorScheme });
    await page.setViewportSize(size);
    await page.getByRole("link", { name: "edit_file" }).waitFor();
    await page.keyboard.press("j");
    const allow = page.getByRole("button", { name: "Allow…" });
    await allow.waitFor();
    const bottom = async (text: string): Promise<number> => {
      const box = await page.getByText(text, { exact: true }).first().boundingBox();
      return (box?.y ?? Number.NaN) + (box?.height ?? 0);
    };
    const first = await allow.boundingBox();
    expect(await bottom("src/config.ts")).toBeLessThan(first?.y ?? 0);
    expect(await bottom("100")).toBeLessThan(first?.y ?? 0);
    expect((first?.y ?? 0) + (first?.height ?? 0)).toBeLessThanOrEqual(size.height);
    if (size.width < 500) expect(first?.height).toBeGreaterThanOrEqual(44);
    expect(await violations(page)).toEqual([]);
    await takeShot(page, `edit-${size.width}-${colorScheme}`);
    await page.keyboard.press("a");
    await page.getByRole("form", { name: "Confirm to allow" }).waitFor();
    await takeShot(page, `edit-allow-${size.width}-${colorScheme}`);
    expect(await violations(page)).toEqual([]);
    const second = await page.getByRole("button", { name: "Allow (Enter)" }).boundingBox();
    expect(await bottom("100")).toBeLessThan(second?.y ?? 0);
    // A double tap does not reach the second button.
    const [x, y] = [(first?.x ?? 0) + (first?.width ?? 0) / 2, (first?.y ?? 0) + (first?.height ?? 0) / 2];
    const isHit =
      second !== null &&
      x >= second.x &&
      x <= second.x + second.width &&
      y >= second.y &&
      y <= second.y + second.height;
    expect(isHit).toBe(false);
    expect(await overflow(page)).toEqual([]);
    expect(errors).toEqual([]);
  });

  test.each(
    SCHEMES,
  )("30 confirmations are accessible and fit on a phone, in the %s scheme", async (colorScheme) => {
    const scene = await openScene();
    const alice = scene.client("alice");
    const hostile = ["<b>x</b>", "p\u0430ypal", "\u202egpj", "a\u0000b", "n".repeat(300)];
    // The writing calls of a session are asked about one after the other.
    for (let at = 0; at < 30; at++) {
      const name = hostile[at % hostile.length] ?? "";
      const args = { text: `note ${at}`, ...(at < 10 && { [name]: hostile }) };
      await alice.dispatch(await alice.open(), [{ id: `call_${at}`, name: "write_note", arguments: args }]);
    }
    await scene.client("carol").confirmations(30);
    const { page, errors } = await scene.open("carol", { view: 2, colorScheme });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByText("30 open").waitFor();
    await page.getByRole("searchbox", { name: "Filter" }).fill("note 1");
    await expect
      .poll(() => page.getByRole("checkbox", { name: "Select write_note" }).count(), PATIENT)
      .toBe(11);
    expect(await violations(page)).toEqual([]);
    expect(await overflow(page)).toEqual([]);
    await page.getByRole("main").getByRole("listitem").getByRole("link").first().click();
    await page.getByRole("button", { name: "Deny…" }).click();
    await page.getByRole("form", { name: "Confirm to deny" }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await overflow(page)).toEqual([]);
    await page.goto(`${scene.origin}/console/#/live`);
    await page.locator(".rows > .row").first().waitFor();
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
  }, 120_000);

  test.each(SIZES)("no view is wider than the page at $width pixels", async (size) => {
    const scene = await openScene();
    await scene.call("outer_tool", { text: "hello" });
    await scene.call("send_mail", { to: `${"x".repeat(300)}@example.com` });
    await scene.ask("write_note", { text: `${"y".repeat(500)}\n`.repeat(200), [`${"n".repeat(200)}`]: 1 });
    await scene.holdChange("one.txt", "1\n");
    const { page } = await scene.open("dave");
    await page.setViewportSize(size);
    for (const [at, view] of VIEWS.entries()) {
      await page.keyboard.press(String(at));
      await page.getByRole("heading", { level: 1, name: view }).waitFor();
      await page.locator(".amounts, .rows > .row, a.card, li.card, tbody a").first().waitFor();
      expect({ view, wider: await overflow(page) }).toEqual({ view, wider: [] });
    }
    await page.keyboard.press("2");
    await page.getByRole("link", { name: "write_note" }).click();
    await page.getByRole("button", { name: "Allow…" }).click();
    await page.getByText("of the arguments are folded").waitFor();
    expect(await overflow(page)).toEqual([]);
  });
});
