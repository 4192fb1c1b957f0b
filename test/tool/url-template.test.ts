import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileUrl } from "../../src/tool/http-template.ts";

const expand = (template: string, input: Parameters<ReturnType<typeof compileUrl>["expand"]>[0]): string =>
  String(compileUrl(template).expand(input));

describe("the template of a URL", () => {
  test.each([
    ["https://api.test", {}, "https://api.test/"],
    ["https://api.test:8443/a/{b}/c", { b: "x y" }, "https://api.test:8443/a/x%20y/c"],
    ["https://api.test/{b}", { b: "a/b?c#d" }, "https://api.test/a%2Fb%3Fc%23d"],
    ["https://api.test/{b:3}", { b: "abcdef" }, "https://api.test/abc"],
    ["https://api.test{/path*}", { path: ["a", "b c"] }, "https://api.test/a/b%20c"],
    ["https://api.test{/path*}", {}, "https://api.test"],
    ["https://api.test/x{?q,n}", { q: "a&b", n: 1 }, "https://api.test/x?q=a%26b&n=1"],
    ["https://api.test/x{?q,n}", { n: null }, "https://api.test/x"],
    ["https://api.test/x{?tags*}", { tags: ["a", "b"] }, "https://api.test/x?tags=a&tags=b"],
    ["https://api.test/x{?filter*}", { filter: { a: 1, b: true } }, "https://api.test/x?a=1&b=true"],
    ["https://api.test/x?v=1{&q}", { q: "é" }, "https://api.test/x?v=1&q=%C3%A9"],
    ["https://api.test/x{.format}", { format: "json" }, "https://api.test/x.json"],
    ["https://api.test/{b}", { b: "..." }, "https://api.test/..."],
    ["https://api.test/x?q={b}", { b: ".." }, "https://api.test/x?q=.."],
  ])("the URL template %s is expanded", (template, input, url) => {
    expect(expand(template, input)).toBe(url);
  });

  test.each([
    ["a number", 7],
    ["a path instead of a URL", "/users/{user}"],
    ["another scheme", "ftp://api.test/{x}"],
    ["an expression in the scheme", "{scheme}://api.test/"],
    ["an expression in the host", "https://{host}/"],
    ["an expression in a part of the host", "https://{tenant}.api.test/"],
    ["an expression that continues the host", "https://api.test{x}"],
    ["an expression in the port", "https://api.test:{port}/"],
    ["credentials", "https://me:{x}@api.test/"],
    ["a fragment", "https://api.test/#{x}"],
    ["reserved expansion", "https://api.test/{+path}"],
    ["a fragment's expansion", "https://api.test/x{#x}"],
    ["an unknown operator", "https://api.test/{|x}"],
    ["an empty expression", "https://api.test/{}"],
    ["an open brace", "https://api.test/{x"],
    ["a '..' segment", "https://api.test/{x}/../y"],
  ])("a URL template with %s is refused", (_case, template) => {
    expect(() => compileUrl(template)).toThrow(/^url /);
  });

  test.each([
    ["https://api.test/a/{b}", { b: ".." }],
    ["https://api.test/a/{b}", { b: "." }],
    ["https://api.test/a/{b}", { b: "../../admin" }],
    ["https://api.test/a/{b}", { b: "x\\..\\y" }],
    ["https://api.test/a/{b}", { b: "..;x" }],
    ["https://api.test/a/{b}{c}", { b: ".", c: "." }],
    ["https://api.test/a/.{b}", { b: "." }],
    ["https://api.test/a/x/.{.b}", { b: "" }],
    ["https://api.test{/path*}", { path: ["a", "..", "b"] }],
    ["https://api.test/a/{b}", {}],
    ["https://api.test/a/{b}", { b: "" }],
    ["https://api.test/a/{b}", { b: null }],
    ["https://api.test/a/{b}", { b: {} }],
    ["https://api.test/a/{b}", { b: { c: null } }],
    ["https://api.test/a/{b*}", { b: [""] }],
    ["https://api.test/a/{b,c}", { b: [null], c: "d" }],
    ["https://api.test/a/{b}", { b: { deep: [1] } }],
    ["https://api.test/a/{constructor}", {}],
    ["https://api.test/a/{b:1}", { b: "\u{1f600}" }],
  ])("the URL template %s refuses the arguments %o", (template, input) => {
    expect(() => expand(template, input)).toThrow(/^(the argument|'\.' and '\.\.')/);
  });

  test("no argument can change the other parts of a URL template", () => {
    const template = compileUrl("https://api.test/a/{b}/c/{d}/e?f={g}{&h}");
    const value = fc.string({ unit: "grapheme", minLength: 1 });
    fc.assert(
      fc.property(value, value, value, value, (b, d, g, h) => {
        let expanded: string | URL;
        try {
          expanded = template.expand({ b, d, g, h });
        } catch {
          return;
        }
        const url = new URL(expanded);
        expect(url.origin).toBe("https://api.test");
        expect(url.pathname.split("/").map(decodeURIComponent)).toEqual(["", "a", b, "c", d, "e"]);
        expect([...url.searchParams]).toEqual([
          ["f", g],
          ["h", h],
        ]);
        expect(url.hash).toBe("");
      }),
    );
  });
});
