import type { RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import { echo, failureOf, openEgress, request, serve, serveBytes } from "./servers.ts";

/** Redirects requests for `/`, and echoes all others. */
const redirecting =
  (status: number, location: string): RequestListener =>
  (asked, response) => {
    if (asked.url !== "/") return void echo(asked, response);
    asked.resume();
    response.writeHead(status, { location }).end();
  };

const SENT = {
  authorization: "Bearer t",
  cookie: "a=b",
  "x-key": "k",
  "content-type": "text/plain",
  accept: "*/*",
};

describe("a redirect", () => {
  test("a redirect is returned like any response unless it should be followed", async () => {
    const port = await serve(redirecting(302, "/next"));
    const { status, headers } = await openEgress().send(request(`http://api.test:${port}/`));
    expect({ status, location: headers["location"] }).toEqual({ status: 302, location: "/next" });
  });

  test.each([
    [301, "POST", "GET", ""],
    [302, "POST", "GET", ""],
    [302, "PUT", "PUT", "body"],
    [303, "PUT", "GET", ""],
    [307, "POST", "POST", "body"],
    [308, "DELETE", "DELETE", "body"],
  ])("a redirect with %i after a %s is followed with %s", async (status, method, followed, body) => {
    const port = await serve(redirecting(status, "/next"));
    const url = `http://api.test:${port}/`;
    const asked = request(url, { method, body: "body", headers: SENT, maxRedirects: 1 });
    const response = await openEgress().send(asked);
    const seen = JSON.parse(response.body.toString());
    expect(seen).toMatchObject({ method: followed, url: "/next", body });
    expect(seen.headers["content-type"]).toBe(body === "" ? undefined : "text/plain");
    expect(seen.headers).toMatchObject({ authorization: "Bearer t", cookie: "a=b", "x-key": "k" });
    expect(response.url.pathname).toBe("/next");
    expect(response.traffic.contacted).toHaveLength(2);
  });

  test("a redirect sends no credentials to another origin", async () => {
    const other = await serve(echo);
    const port = await serve(redirecting(307, `http://other.test:${other}/next`));
    const asked = request(`http://api.test:${port}/`, {
      headers: { ...SENT, "Proxy-Authorization": "p", Cookie: "c" },
      credentialHeaders: ["x-key"],
      maxRedirects: 1,
    });
    const { headers } = JSON.parse((await openEgress().send(asked)).body.toString());
    expect(headers).toMatchObject({ accept: "*/*", host: `other.test:${other}` });
    for (const name of ["authorization", "cookie", "proxy-authorization", "x-key"]) {
      expect(headers).not.toHaveProperty(name);
    }
  });

  test.each([
    ["to an address that is not public", "http://169.254.169.254/latest/", "address_denied"],
    ["to a loopback address in disguise", "http://[::ffff:7f00:1]/", "address_denied"],
    ["to a scheme that is not HTTP", "file:///etc/passwd", "origin_denied"],
    ["to a URL with credentials", "http://u:p@api.test/", "redirect_refused"],
    ["to an invalid URL", "http://[", "redirect_refused"],
  ])("a redirect %s is not followed", async (_case, location, code) => {
    const port = await serve(redirecting(302, location));
    const asked = request(`http://api.test:${port}/`, { maxRedirects: 5 });
    expect(await failureOf(openEgress().send(asked))).toMatchObject({ code, sent: true });
  });

  test("a redirect to an origin that the grant does not name is not followed", async () => {
    let visits = 0;
    const other = await serve((_request, response) => {
      visits++;
      response.end();
    });
    const port = await serve(redirecting(302, `http://other.test:${other}/`));
    const grants = [{ origin: `http://api.test:${port}`, addresses: ["127.0.0.0/8"] }];
    const asked = request(`http://api.test:${port}/`, { grants, maxRedirects: 5 });
    expect((await failureOf(openEgress().send(asked))).code).toBe("origin_denied");
    expect(visits).toBe(0);
  });

  test("a circular redirect ends", async () => {
    let visits = 0;
    const port = await serve((_request, response) => {
      visits++;
      response.writeHead(302, { location: "/" }).end();
    });
    const asked = request(`http://api.test:${port}/`, { maxRedirects: 3 });
    expect((await failureOf(openEgress().send(asked))).code).toBe("too_many_redirects");
    expect(visits).toBe(4);
  });

  test("a redirect with two locations is an error", async () => {
    const head =
      "HTTP/1.1 302 Found\r\nlocation: /a\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n";
    const port = await serveBytes((socket) => socket.write(head));
    const asked = request(`http://api.test:${port}/`, { maxRedirects: 5 });
    expect((await failureOf(openEgress().send(asked))).code).toBe("redirect_refused");
  });

  test("a Refresh header is not a redirect", async () => {
    const port = await serve((_request, response) =>
      response.setHeader("refresh", "0;url=/next").end("here"),
    );
    const asked = request(`http://api.test:${port}/`, { maxRedirects: 5 });
    expect((await openEgress().send(asked)).body.toString()).toBe("here");
  });
});
