import { describe, expect, test } from "vitest";
import { send } from "../../executor/harness.ts";
import { refusalOf, startServer } from "../harness.ts";
import { PAGE, startConsole } from "./console.ts";

describe("the page of the console", () => {
  test("is served without credentials, and can load nothing from elsewhere", async () => {
    const server = await startConsole();
    const page = await send(server, { method: "GET", path: "/console/" });
    expect([page.status, page.text]).toEqual([200, PAGE["index.html"]]);
    expect(page.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-cache",
    });
    const moved = await send(server, { method: "GET", path: "/console" });
    expect([moved.status, moved.headers["location"]]).toEqual([308, "/console/"]);
  });

  test("has files that never change, and others that a browser asks for again", async () => {
    const server = await startConsole();
    const script = await send(server, { method: "GET", path: "/console/assets/index-BzN0V2aF.js" });
    expect(script.headers).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      "content-type": "text/javascript; charset=utf-8",
    });
    const icon = await send(server, { method: "GET", path: "/console/favicon.svg?x" });
    expect(icon.headers["cache-control"]).toBe("no-cache");
    const again = await send(server, {
      method: "GET",
      path: "/console/favicon.svg",
      headers: { "if-none-match": String(icon.headers["etag"]) },
    });
    expect([again.status, again.text]).toEqual([304, ""]);
    const head = await send(server, { method: "HEAD", path: "/console/favicon.svg" });
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  test.each([
    "/console/../package.json",
    "/console/..%2f..%2fetc/passwd",
    "/console/assets/",
    "/console/assets/../index.html",
    "/console//etc/passwd",
    "/console/__proto__",
    "/console/index.html%00",
  ])("has no file %s", async (path) => {
    expect(refusalOf(await send(await startConsole(), { method: "GET", path }))).toBe("404 not_found");
  });

  test("is refused for other methods and other hosts", async () => {
    const server = await startConsole();
    expect(refusalOf(await send(server, { path: "/console/" }))).toBe("405 method_not_allowed");
    const headers = { host: "evil.example" };
    expect(refusalOf(await send(server, { method: "GET", path: "/console/", headers }))).toBe(
      "421 misdirected",
    );
  });

  test("is not there unless the options say so", async () => {
    const server = await startServer([]);
    expect(refusalOf(await send(server, { method: "GET", path: "/console/" }))).toBe("404 not_found");
    expect(() => server.issueConsoleToken()).toThrow("no console");
  });

  test("must be in the folder that the options name", async () => {
    await expect(startServer([], { console: { page: "/does/not/exist" } })).rejects.toThrow("cannot be read");
  });
});
