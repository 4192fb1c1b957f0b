import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { LoggedWarnings } from "../../src/telemetry/call-log.ts";
import { Log } from "../../src/telemetry/log.ts";

test("Warnings of the process go to the log while it is open, and to their listeners afterwards", async () => {
  const seen: string[] = [];
  const listener = ({ message }: Error): void => void seen.push(message);
  const before = process.listeners("warning");
  process.on("warning", listener);
  const stream = new PassThrough();
  {
    using _warnings = new LoggedWarnings(new Log({ stream, format: "json" }));
    process.emitWarning("a thread is stuck", { type: "SandgateWarning", code: "STUCK" });
    await new Promise(setImmediate);
  }
  process.emitWarning("later", { type: "SandgateWarning", code: "LATER" });
  await new Promise(setImmediate);
  process.off("warning", listener);
  expect(JSON.parse(String(stream.read()))).toMatchObject({
    level: "warn",
    event: "process.warning",
    name: "SandgateWarning",
    code: "STUCK",
    message: "a thread is stuck",
  });
  expect(seen).toEqual(["later"]);
  expect(process.listeners("warning")).toEqual(before);
});
