import { describe, expect, test } from "vitest";
import { openSuspensions } from "../../src/programs/suspension/suspensions.ts";
import { KEY, program } from "../programs/suspension/setting.ts";
import { HAS_NO_BROWSER, PATIENT, useBrowser } from "./browser.ts";
import { openScene } from "./server/scene.ts";

const SOURCE = `export default async (input, { tools }) => {
  const written = await tools.call("write_note", { text: "from a program" });
  return { written };
};`;

/** A server on which a program of alice's waits for its call of `write_note`. */
async function scene() {
  const suspensions = openSuspensions({ keys: [KEY] });
  const opened = await openScene({
    suspensions,
    tools: [program(SOURCE, { name: "waits", sideEffects: "read" })],
  });
  return { on: opened, suspensions, begun: await opened.ask("waits") };
}

describe.skipIf(HAS_NO_BROWSER)("Programs that wait", () => {
  useBrowser();

  test("are shown with their open calls and how long they have left, and end once their call is allowed", async () => {
    const { on, begun } = await scene();
    const { page, errors } = await on.open("carol", { view: 2 });
    const card = page.getByRole("list", { name: "Programs" }).locator(".card");
    await expect.poll(() => card.count(), PATIENT).toBe(1);
    expect(await card.locator("strong").textContent()).toBe("waits");
    expect(await card.textContent()).toMatch(/alice · waits for 1 call · 7 days left/);
    await card.getByRole("link", { name: "write_note" }).click();
    await page.getByRole("button", { name: "Exact JSON" }).click();
    const exact = page.getByRole("region", { name: "Exact arguments" });
    expect(JSON.parse((await exact.textContent()) ?? "")).toEqual({ text: "from a program" });
    await page.getByRole("button", { name: "Allow…" }).click();
    await page.getByRole("button", { name: "Allow (Enter)" }).click();
    await page.getByText("This was allowed by carol.").waitFor();
    expect((await on.ended(begun))?.success).toBe(true);
    expect(on.notes.inputs).toEqual([{ text: "from a program" }]);
    await expect.poll(() => card.count(), PATIENT).toBe(0);
    expect(errors).toEqual([]);
  });

  test("disappear when their turn is cancelled", async () => {
    const { on, suspensions, begun } = await scene();
    const { page, errors } = await on.open("carol", { view: 2 });
    const card = page.getByRole("list", { name: "Programs" }).locator(".card");
    await expect.poll(() => card.count(), PATIENT).toBe(1);
    await on.client("alice").send("POST", `/v1/sessions/${begun.session}/turns/${begun.turn}/cancel`, {});
    await expect.poll(() => card.count(), PATIENT).toBe(0);
    expect(await suspensions.list()).toEqual([]);
    expect(on.notes.inputs).toEqual([]);
    expect(errors).toEqual([]);
  });
});
