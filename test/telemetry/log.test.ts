import { PassThrough, Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Redaction } from "../../src/redaction/redaction.ts";
import { Log, type LogFields, type LogOptions } from "../../src/telemetry/log.ts";

/** Writes entries of the level `warn` with these fields, and returns the lines. */
function linesOf(fields: readonly LogFields[], options: Partial<LogOptions> = {}): string[] {
  const stream = new PassThrough();
  const log = new Log({ stream, format: "json", ...options });
  for (const each of fields) log.write({ level: "warn", event: "test", at: 0, fields: each });
  return String(stream.read() ?? "")
    .split("\n")
    .slice(0, -1);
}

describe("A log", () => {
  test("writes one line of JSON for each entry", () => {
    expect(linesOf([{ code: "timeout", ms: 1.5, rules: ["a", "b"], late: true, absent: undefined }])).toEqual(
      [
        '{"time":"1970-01-01T00:00:00.000Z","level":"warn","event":"test","code":"timeout","ms":1.5,"rules":["a","b"],"late":true}',
      ],
    );
  });

  test("writes lines for people as text", () => {
    expect(
      linesOf([{ tool: "fs/read", message: 'it\'s "late"\n', ms: 2, rules: ["a b"] }], { format: "text" }),
    ).toEqual([
      '1970-01-01T00:00:00.000Z warn  test tool=fs/read message="it\'s \\"late\\"\\n" ms=2 rules=["a b"]',
    ]);
  });

  test("leaves out entries below its level", () => {
    expect(linesOf([{}], { level: "error" })).toEqual([]);
    expect(linesOf([{}], { level: "warn" })).toHaveLength(1);
    expect(linesOf([{}], { level: "debug" })).toHaveLength(1);
  });

  test("hides secrets: those that are known, and those of its own redaction", () => {
    const fields = { message: "password=hunter2", rules: [`ghp_${"a".repeat(20)}`, "badge B-1234"] };
    expect(linesOf([fields])[0]).toContain(
      '"message":"password=[redacted: password]","rules":["[redacted: github-token]","badge B-1234"]',
    );
    const redaction = new Redaction({ patterns: { badge: "B-[0-9]+" } });
    expect(linesOf([fields], { redaction })[0]).toContain("badge [redacted: badge]");
  });

  test.each(["json", "text"] as const)("escapes what a terminal would interpret, as %s", (format) => {
    const hostile = "\u001b[2Jred\r\nSep 1 root: \u202egnp.exe\u2028\u009b1m\ud800";
    const [line = "", ...others] = linesOf([{ message: hostile, tool: hostile }], { format });
    expect(others).toEqual([]);
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    if (format === "json") expect(JSON.parse(line).message).toBe(hostile.toWellFormed());
  });

  test("writes one parsable line, whatever the texts are", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (message) => {
        const lines = linesOf([{ message }]);
        expect(lines).toHaveLength(1);
        expect(JSON.parse(lines[0] ?? "")).toHaveProperty("message");
      }),
    );
  });

  test("cuts long texts and lists", () => {
    const [line = ""] = linesOf([{ message: "😀".repeat(100_000), rules: Array(60).fill("rule") }]);
    const { message, rules } = JSON.parse(line);
    expect(message).toBe(`${"😀".repeat(2_048)}…`);
    expect(rules).toHaveLength(51);
    expect(rules.at(-1)).toBe("and 10 more");
  });
});

describe("A log whose reader is slow", () => {
  /** A stream that writes nothing until it is released, and what it wrote. */
  function slowStream(): { readonly stream: Writable; readonly written: string[]; release(): void } {
    const written: string[] = [];
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const stream = new Writable({
      write: (chunk, _encoding, done) => void released.then(() => done(void written.push(String(chunk)))),
    });
    return { stream, written, release: () => release() };
  }

  test("loses lines beyond 1 MiB rather than keep them, and counts them once the reader is back", async () => {
    const { stream, written, release } = slowStream();
    const log = new Log({ stream, format: "json" });
    const entry = { level: "info", event: "test", fields: { message: "x".repeat(1_000) } } as const;
    for (let index = 0; index < 5_000; index++) log.write(entry);
    expect(stream.writableLength).toBeLessThan(1_100_000);
    release();
    await log[Symbol.asyncDispose]();
    const events = written.filter((line) => line !== "").map((line) => JSON.parse(line));
    const { level, lines } = events.find(({ event }) => event === "log.lost");
    expect(level).toBe("error");
    expect(lines + events.filter(({ event }) => event === "test").length).toBe(5_000);
    // It goes on afterwards.
    log.write(entry);
    await log[Symbol.asyncDispose]();
    expect(JSON.parse(written.findLast((line) => line !== "") ?? "")).toMatchObject({ event: "test" });
  });

  test("does not wait for it longer than a second when it is closed", async () => {
    const { stream, written } = slowStream();
    const log = new Log({ stream, format: "json" });
    log.write({ level: "info", event: "test" });
    await log[Symbol.asyncDispose]();
    expect(written).toEqual([]);
  });

  test("writes nothing to a stream that is closed", async () => {
    const stream = new PassThrough();
    const log = new Log({ stream, format: "json" });
    stream.destroy();
    log.write({ level: "info", event: "test" });
    await log[Symbol.asyncDispose]();
    expect(stream.writableLength).toBe(0);
  });
});
