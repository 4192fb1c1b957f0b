import { describe, expect, test } from "vitest";
import {
  HEADER_VALUE,
  headerProblem,
  isToken,
  methodProblem,
  SAFE_METHODS,
} from "../../src/base/http-syntax.ts";

describe("the syntax of HTTP requests", () => {
  test.each(["GET", "x-a", "!#$%&'*+.^_`|~0aZ"])("%s is a token", (text) => {
    expect(isToken(text)).toBe(true);
  });

  test.each(["", "a b", "a:b", "a/b", "a\n", "(a)", "é"])("%j is not a token", (text) => {
    expect(isToken(text)).toBe(false);
  });

  test("the length of a token can be limited", () => {
    expect(isToken("abcd", 4)).toBe(true);
    expect(isToken("abcde", 4)).toBe(false);
  });

  test("a header value has no control characters but the tab, and only one-byte characters", () => {
    expect(HEADER_VALUE.test("")).toBe(true);
    expect(HEADER_VALUE.test("a\tb \xff")).toBe(true);
    for (const value of ["a\r\nb", "\0", "\x7f", "\u0100"]) expect(HEADER_VALUE.test(value)).toBe(false);
  });

  test("a tool cannot set the headers of the connection", () => {
    expect(headerProblem("Host", "example.org")).toBe(
      "the header 'Host' is controlled by the connection and cannot be set",
    );
    expect(headerProblem("content-length", "1")).toBeDefined();
    expect(headerProblem("x-secret", "one\ntwo")).not.toContain("two");
    expect(headerProblem("x-secret", "one")).toBeUndefined();
  });

  test("a tool cannot use CONNECT, TRACE or TRACK", () => {
    for (const method of ["CONNECT", "TRACE", "TRACK", "get", "", "GET /"]) {
      expect(methodProblem(method)).toBeDefined();
    }
    for (const method of [...SAFE_METHODS, "POST", "PROPFIND"]) expect(methodProblem(method)).toBeUndefined();
  });
});
