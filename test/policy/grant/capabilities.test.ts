import { describe, expect, test } from "vitest";
import {
  type Capabilities,
  checkCapabilities,
  commonCapabilities,
} from "../../../src/policy/grant/capabilities.ts";

describe("commonCapabilities", () => {
  test.each<[string, Capabilities, Capabilities, Capabilities]>([
    ["nothing if one set is empty", { env: ["A"], clock: true, tools: ["*"] }, {}, {}],
    ["the names in both lists", { env: ["A", "B"] }, { env: ["B", "C"] }, { env: ["B"] }],
    [
      "the narrower pattern of tools",
      { tools: ["*"] },
      { tools: ["read_*", "add"] },
      { tools: ["read_*", "add"] },
    ],
    [
      "the tool that a pattern matches",
      { tools: ["read_file"] },
      { tools: ["read_*"] },
      { tools: ["read_file"] },
    ],
    ["no tool if patterns only overlap", { tools: ["read_*"] }, { tools: ["*_file"] }, {}],
    ["no tool whose name is only a prefix of a pattern", { tools: ["read"] }, { tools: ["read_*"] }, {}],
    [
      "the restrictions of both",
      { frozenClock: 0 },
      { randomSeed: "s" },
      { frozenClock: 0, randomSeed: "s" },
    ],
    [
      "directories in both, at the path in the second, writable if both are",
      { fs: [{ directory: "/srv/a", write: true }, { directory: "/srv/b" }, { directory: "/srv" }] },
      {
        fs: [
          { directory: "/srv/a/", at: "/in", write: true },
          { directory: "/srv/b", write: true },
        ],
      },
      {
        fs: [
          { directory: "/srv/a", at: "/in", write: true },
          { directory: "/srv/b", at: "/" },
        ],
      },
    ],
    [
      "a file in both, or in a directory of the other, which names as much of its path as the vaguer one",
      {
        fs: [
          { file: "/srv/a/x", at: "/x", write: true },
          { directory: "/srv/b", write: true },
          { file: "/srv/c/d/x", at: "/y", write: true },
        ],
      },
      {
        fs: [
          { file: "/srv/a/x", within: "/srv/a", at: "/in/x", write: true },
          { file: "/srv/b/y", at: "/in/y" },
          { file: "/srv/bb", at: "/in/z" },
          { directory: "/srv/c", at: "/c", write: true },
        ],
      },
      {
        fs: [
          { file: "/srv/a/x", within: "/srv/a", at: "/in/x", write: true },
          { file: "/srv/b/y", within: "/srv/b", at: "/in/y" },
          { file: "/srv/c/d/x", within: "/srv/c", at: "/c/d/x", write: true },
        ],
      },
    ],
    [
      "a directory only once, whichever files of it are granted, too",
      {
        fs: [
          { directory: "/srv/a", at: "/a" },
          { file: "/srv/a/x", at: "/files/x", write: true },
        ],
      },
      { fs: [{ directory: "/srv/a", at: "/a", write: true }] },
      { fs: [{ directory: "/srv/a", at: "/a" }] },
    ],
    [
      "no directory below another one",
      { fs: [{ directory: "/srv" }] },
      { fs: [{ directory: "/srv/a" }] },
      {},
    ],
    [
      "the narrower origin",
      { net: ["https://*.example.com", "http://localhost:*"] },
      { net: ["https://api.example.com", "http://localhost:8080"] },
      { net: ["https://api.example.com", "http://localhost:8080"] },
    ],
    ["no origin if schemes differ", { net: ["https://a.example"] }, { net: ["http://a.example"] }, {}],
    [
      "the addresses that both list",
      { net: [{ origin: "http://a.test", addresses: ["10.0.0.0/8", "127.0.0.1/32"] }] },
      { net: [{ origin: "http://*", addresses: ["127.0.0.1/32"] }] },
      { net: [{ origin: "http://a.test", addresses: ["127.0.0.1/32"] }] },
    ],
    [
      "the secrets and stores in both",
      { secrets: ["A", "B"], keyValue: ["notes"] },
      { secrets: ["B"], keyValue: ["notes", "other"] },
      { secrets: ["B"], keyValue: ["notes"] },
    ],
    ["a shared instance only if both grant it", { reuse: "instance" }, {}, {}],
    ["the first of two frozen clocks", { frozenClock: 1 }, { frozenClock: 2 }, { frozenClock: 1 }],
  ])("two sets of capabilities have in common: %s", (_case, a, b, common) => {
    expect(commonCapabilities(a, b)).toEqual(common);
  });
});

describe("checkCapabilities", () => {
  test("checkCapabilities leaves out capabilities that grant nothing", () => {
    expect(checkCapabilities({ env: [], clock: false, tools: [], frozenClock: 0 })).toEqual({
      frozenClock: 0,
    });
  });

  test.each<[string, object]>([
    ["tools", { tools: "add" }],
    ["tools", { tools: [1] }],
    ["frozenClock", { frozenClock: 1.5 }],
    ["randomSeed", { randomSeed: 7 }],
    ["fs", { fs: "/srv" }],
    ["fs", { fs: [{ directory: "relative" }] }],
    ["fs", { fs: [{ directory: "/srv", at: "../up" }] }],
    ["fs", { fs: [{ directory: "/srv" }, { directory: "/opt" }] }],
    ["fs", { fs: [{ directory: "/srv", mode: "rw" }] }],
    ["net", { net: "https://a.example" }],
    ["origin", { net: ["https://a.example/path"] }],
    ["origin", { net: ["https://user@a.example"] }],
    ["origin", { net: ["https://A.example"] }],
    ["65535", { net: ["https://a.example:65536"] }],
    ["10.0.0.0/8", { net: [{ origin: "https://a.example", addresses: ["10.0.0.1"] }] }],
    ["net", { net: [null] }],
    ["secrets", { secrets: "TOKEN" }],
    ["keyValue", { keyValue: [1] }],
    ["reuse", { reuse: true }],
    ["teleport", { teleport: true }],
  ])("checkCapabilities rejects an invalid value, and names it: %s", (name, capabilities) => {
    expect(() => checkCapabilities(capabilities)).toThrow(name);
  });
});
