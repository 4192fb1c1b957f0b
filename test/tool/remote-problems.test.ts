import { expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";

const url = "http://api.example";

test.each<[string, unknown, RegExp]>([
  ["with both url and http", { url, http: { url } }, /takes one of url, http/],
  ["whose http is not an object", { http: "x" }, /remote.http must be an object/],
  ["with an unknown member", { http: { url, retries: 3 } }, /unknown member 'retries'/],
  ["with an expression in the host", { http: { url: "https://{host}/" } }, /remote.http.url must begin/],
  ["with a query that is a text", { http: { url, query: "a=1" } }, /remote.http.query must be a map/],
  [
    "with an unknown format",
    { http: { url, method: "POST", bodyFormat: "xml" } },
    /must be one of json, form/,
  ],
  ["with a form in a GET", { http: { url, bodyFormat: "form" } }, /needs a body, which GET does not have/],
  [
    "with a form that is a list",
    { http: { url, method: "POST", body: [], bodyFormat: "form" } },
    /remote.http.body must be a map, or one argument/,
  ],
  [
    "with a boundary of its own",
    {
      http: {
        url,
        method: "POST",
        bodyFormat: "multipart",
        headers: { "Content-Type": "multipart/form-data" },
      },
    },
    /remote.http.headers must not have content-type/,
  ],
  ["with the method CONNECT", { http: { url, method: "CONNECT" } }, /remote.http.method/],
  ["with a method in lower case", { http: { url, method: "post" } }, /remote.http.method/],
  ["with a header of the connection", { http: { url, headers: { host: "x" } } }, /remote.http.headers/],
  ["with a line break in a header", { http: { url, headers: { a: "x\r\nb: c" } } }, /remote.http.headers/],
  ["with an unclosed brace in a header", { http: { url, headers: { a: "{secret:" } } }, /has a brace/],
  ["with an invalid JSON pointer", { http: { url, response: { pointer: "a" } } }, /JSON pointer/],
  ["with both a pointer and text", { http: { url, response: { pointer: "/a", text: true } } }, /either/],
  ["with too many redirects", { http: { url, maxRedirects: 99 } }, /from 0 to 10/],
])("a remote tool %s is not registered", (_case, remote, reason) => {
  const tool = { name: "tool", description: "", inputSchema: {}, remote } as never;
  expect(() => new ToolRegistry().register(tool)).toThrow(reason);
});
