/**
 * An agent that fixes an error in a git repository, with the toolsets of Sandgate: it reads, searches, runs tests, asks, edits,
 * and commits. Its programs are confined, and a person is asked about each change. The model is a recording. Run it from
 * the root of the repository, after `npm run build`: `node examples/coding-agent/main.ts`.
 */
import { openSandboxes } from "sandgate";
import { run } from "./run.ts";

await using sandboxes = await openSandboxes();
process.exitCode = await run(sandboxes, console.log);
