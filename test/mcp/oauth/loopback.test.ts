import { expect, test } from "vitest";
// Inside: plays the browser with wrong states and paths, without an authorization server.
import { Loopback } from "../../../src/mcp/oauth/oauth-provider.ts";

test("the browser's answer counts only with the state of this login, and at the one path", async () => {
  await using loopback = await Loopback.open();
  const status = async (url: string, method = "GET"): Promise<number> =>
    (await fetch(url, { method })).status;
  const state = `state=${loopback.state}`;
  expect(await status(`${loopback.url}?code=evil`)).toBe(400);
  expect(await status(`${loopback.url}?code=evil&state=${"x".repeat(43)}`)).toBe(400);
  expect(await status(`${new URL(loopback.url).origin}/?code=evil&${state}`)).toBe(404);
  expect(await status(`${loopback.url}?code=evil&${state}`, "POST")).toBe(404);
  expect(await status(`${loopback.url}?code=good&${state}`)).toBe(200);
  expect(await status(`${loopback.url}?code=late&${state}`)).toBe(200);
  expect((await loopback.answer).get("code")).toBe("good");
});

test("a port that is taken is an error that names it", async () => {
  await using first = await Loopback.open();
  const port = Number(new URL(first.url).port);
  await expect(Loopback.open(port)).rejects.toThrow(
    `the port ${port} for the browser's answer cannot be had`,
  );
});
