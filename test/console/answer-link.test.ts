import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { first, receivingServer } from "../server/notifying/receiver.ts";
import { HAS_NO_BROWSER, openPage, useBrowser } from "./browser.ts";
import { openScene } from "./server/scene.ts";

/** A call that waits, and the path of the link that people were sent. */
async function asked(links: "login" | "answer", path = "") {
  const { origin, received } = await receivingServer();
  const notify = {
    url: origin,
    consoleUrl: "https://console.example",
    links,
    ...(links === "answer" && { approver: "carol" }),
  };
  const scene = await openScene({ notify });
  if (path !== "") writeFileSync(join(scene.workspace, path), "one\ntwo\nthree\n");
  const begun =
    path === ""
      ? await scene.ask("write_note", { text: "hello" })
      : await scene.ask("write_file", { path, content: "one\n2\nthree\n" });
  const { confirmations } = JSON.parse((await first(received)).body.toString());
  const address = `${scene.origin}${confirmations[0].link.replace("https://console.example", "")}`;
  return { scene, begun, address };
}

describe.skipIf(HAS_NO_BROWSER)("The link of a notification", () => {
  useBrowser();

  test("that answers shows the call without a login, leaves the address bar, and works once", async () => {
    const { scene, begun, address } = await asked("answer");
    const { page, errors } = await openPage(address);
    await page.getByText("You answer as carol, once.").waitFor();
    expect(page.url()).toBe(`${scene.origin}/console/`);
    await page.getByRole("region", { name: "Arguments", exact: true }).getByText("hello").waitFor();
    expect(await page.getByRole("button", { name: "Edit…" }).count()).toBe(0);
    await page.keyboard.press("a");
    const form = page.getByRole("form", { name: "Confirm to allow" });
    await form.waitFor();
    expect(await form.getByRole("combobox").count()).toBe(0);
    await page.keyboard.press("Enter");
    await page.getByText("This was allowed by carol.").waitFor();
    expect((await scene.ended(begun))?.confirmation?.by).toBe("carol");
    expect(errors).toEqual([]);
    const again = await openPage(address);
    await again.page.getByText("This link was used already, or what it was for has ended.").waitFor();
    await again.page.getByRole("link", { name: "Log in to the console" }).click();
    await again.page.getByLabel("Token").waitFor();
  });

  test("that answers shows what a call changes in the file as it is now", async () => {
    const { address } = await asked("answer", "plan.txt");
    const { page, errors } = await openPage(address);
    const difference = page.getByRole("region", { name: "Difference of content" });
    await difference.waitFor();
    await difference.getByText("-two").waitFor();
    await difference.getByText("+2").waitFor();
    expect(errors).toEqual([]);
  });

  test("asks for the login of an approver by default, and then shows the confirmation", async () => {
    const { scene, address } = await asked("login");
    const { page } = await openPage(address);
    await page.getByLabel("Token").fill("token-of-the-person-carol");
    expect(await page.getByText("write_note").count()).toBe(0);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("region", { name: "Arguments", exact: true }).getByText("hello").waitFor();
    const [confirmation] = await scene.client("dave").confirmations();
    if (confirmation !== undefined) await scene.client("dave").answer(confirmation, { decision: "deny" });
    const late = await openPage(address);
    await late.page.getByLabel("Token").fill("token-of-the-person-carol");
    await late.page.getByRole("button", { name: "Log in" }).click();
    await late.page.getByText("What the address names has ended, or others answer it.").waitFor();
  });
});
