#!/usr/bin/env node
import { run } from "./run.ts";

const interruption = new AbortController();
// Only the first: a second one ends the process, whatever a tool does.
process.once("SIGINT", () => interruption.abort());
// A tool may wait for nothing but that: without a timer the process would end before its result.
setInterval(() => {}, 60_000);
// Whoever reads may stop reading, as `head` does: that is no error of ours.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

const { stdin, stdout, stderr } = process;
const exitCode = await run(process.argv.slice(2), { stdin, stdout, stderr, signal: interruption.signal });
// Everything is written: what a tool left behind in this process must not keep it alive.
process.exit(exitCode);
