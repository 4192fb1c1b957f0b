#!/usr/bin/env node
import { Writable } from "node:stream";
import { run } from "./run.ts";

const interruption = new AbortController();
// Only the first: a second one ends the process, whatever a tool does.
process.once("SIGINT", () => interruption.abort());
// A tool may wait for nothing but that: without a timer the process would end before its result.
setInterval(() => {}, 60_000);
// Whoever reads may stop reading, as `head` does: that is no error of ours.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

const { stdin, stderr } = process;
const write = process.stdout.write.bind(process.stdout);
const stdout = Object.assign(
  new Writable({ write: (chunk, encoding, done) => void write(chunk, encoding, done) }),
  process.stdout.columns === undefined ? {} : { columns: process.stdout.columns },
);
// Standard output is for results: what a trusted tool prints, here or in a thread, must not get between them.
process.stdout.write = stderr.write.bind(stderr);
const exitCode = await run(process.argv.slice(2), { stdin, stdout, stderr, signal: interruption.signal });
// Everything is written: what a tool left behind in this process must not keep it alive.
process.exit(exitCode);
