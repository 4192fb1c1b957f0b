import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
// Inside: the commands print only addresses that a server or Sandgate has made, and none that is so hostile.
import { link, print } from "../../../src/cli/terminal.ts";

test.each([
  ["http://127.0.0.1:7420/console/#token=PrDVc8iXES5k3WWaz9jxwaBr_Egyr8iMo4dqaWoIvwM", undefined],
  [`https://auth.example.com/authorize?state=${"s".repeat(3_000)}`, undefined],
  [
    "https://auth.example.com/a b\n: sandgate: logged in\u202e",
    "https://auth.example.com/a%20b:%20sandgate:%20logged%20in%E2%80%AE",
  ],
])("An address is one line of ASCII without spaces, however narrow the terminal is: %#", async (url, as = url) => {
  const output = Object.assign(new PassThrough(), { columns: 40 });
  await print(output, link(url));
  expect(await text(output.end())).toBe(`${as}\n`);
});
